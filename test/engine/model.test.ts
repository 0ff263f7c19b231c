import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Outcome } from '../../protocol/values';
import { forEachShell, type OpenedSession, timesOut } from '../helpers/engine';

/** What a session should remember, as simply as it can be said. */
interface Model {
  variables: Map<string, { value: string; exported: boolean }>;
  functions: Map<string, string>;
  /** Below the directory it began in. */
  directory: string;
  restarts: number;
}

interface Ended {
  outcome: Outcome;
  exitCode: number | null;
  stdout: string;
}

/** The little of a session that the property needs, so that a broken one can take its place. */
interface Subject {
  run(command: string): Promise<Ended>;
  /** Runs a command that then says "ready" and hangs, and cancels it. */
  cancel(command: string): Promise<Ended>;
  /** Runs a command that then says "ready" and hangs, until its time is over. */
  timeOut(command: string): Promise<Ended>;
  restarts(): number;
}

const names = ['a', 'b', 'c'] as const;
const directories = ['', 'one', 'two words', 'one/deep'] as const;

type Action =
  | { do: 'assign' | 'export'; name: string; value: string }
  | { do: 'unset'; name: string }
  | { do: 'define'; name: string; value: string }
  | { do: 'cd'; to: string }
  | { do: 'fail'; code: number }
  | { do: 'exit'; code: number }
  | { do: 'syntax error' }
  | { do: 'subshell'; name: string; value: string }
  /** Changes something and then hangs until it is stopped. */
  | { do: 'time out' | 'cancel'; change: 'cd' | 'assign'; name: string; value: string; to: string };

const name = fc.constantFrom(...names);
const value = fc.oneof(
  fc.constantFrom('', ' ', "'", '"', '$x', '`x`', '\n', '\\', '!', '*', '#', 'ü', '$(exit 9)', "'\\''"),
  fc.string({ maxLength: 8 }).map((text) => text.replaceAll('\0', '')),
);
const to = fc.constantFrom(...directories);
const code = fc.integer({ min: 0, max: 120 });

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('assign' as const, 'export' as const), name, value }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unset' as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('define' as const), name, value }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cd' as const), to }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), code }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('exit' as const), code }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('syntax error' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('subshell' as const), name, value }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('time out' as const, 'cancel' as const),
      change: fc.constantFrom('cd' as const, 'assign' as const),
      name,
      value,
      to,
    }),
  },
);

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Prints all that the model knows of: variables, whether children see them, functions. The directory is printed too. */
const show = [
  ...names.map((n) => `printf '%s=[%s]' ${n} "\${${n}-unset}"`),
  ...names.map((n) => `sh -c 'printf "%s=[%s]" ${n} "\${${n}-unset}"'`),
  ...names.map((n) => `f_${n} 2>/dev/null || printf 'none'`),
  'pwd',
].join('; ');

function shown(model: Model): string {
  const variable = (n: string, exportedOnly: boolean) => {
    const known = model.variables.get(n);
    return `${n}=[${known === undefined || (exportedOnly && !known.exported) ? 'unset' : known.value}]`;
  };
  return [
    ...names.map((n) => variable(n, false)),
    ...names.map((n) => variable(n, true)),
    ...names.map((n) => model.functions.get(n) ?? 'none'),
  ].join('');
}

/** Does it to the session and to the model. */
async function apply(step: Action, subject: Subject, model: Model, root: string): Promise<void> {
  const plain = async (command: string, exitCode = 0) => {
    const { outcome, exitCode: got } = await subject.run(command);
    assert.deepEqual([outcome, got], ['exited', exitCode], command);
  };
  const assign = (exported: boolean, n: string, text: string) =>
    model.variables.set(n, { value: text, exported: exported || (model.variables.get(n)?.exported ?? false) });
  const path = (directory: string) => quote(join(root, directory));
  switch (step.do) {
    case 'assign':
    case 'export':
      await plain(`${step.do === 'export' ? 'export ' : ''}${step.name}=${quote(step.value)}`);
      assign(step.do === 'export', step.name, step.value);
      return;
    case 'unset':
      await plain(`unset ${step.name}`);
      model.variables.delete(step.name);
      return;
    case 'define':
      await plain(`f_${step.name}() { printf '%s' ${quote(step.value)}; }`);
      model.functions.set(step.name, step.value);
      return;
    case 'cd':
      await plain(`cd ${path(step.to)}`);
      model.directory = step.to;
      return;
    case 'fail':
      return plain(`sh -c 'exit ${step.code}'`, step.code);
    case 'exit': {
      const { outcome, exitCode } = await subject.run(`exit ${step.code}`);
      assert.deepEqual([outcome, exitCode], ['shell_exited', step.code]);
      model.restarts++;
      return;
    }
    case 'syntax error': {
      const { outcome, exitCode } = await subject.run('echo "');
      assert.equal(outcome, 'exited');
      assert.notEqual(exitCode, 0);
      return;
    }
    case 'subshell':
      return plain(`(${step.name}=${quote(step.value)}; cd /; f_a() { :; })`);
    case 'time out':
    case 'cancel': {
      const change = step.change === 'cd' ? `cd ${path(step.to)}` : `${step.name}=${quote(step.value)}`;
      const { outcome, stdout } = await (step.do === 'cancel' ? subject.cancel(change) : subject.timeOut(change));
      assert.deepEqual([outcome, stdout], [step.do === 'cancel' ? 'cancelled' : 'timed_out', 'ready\n']);
      if (step.change === 'cd') model.directory = step.to;
      else assign(false, step.name, step.value);
    }
  }
}

async function agrees(actions: Action[], subject: Subject, root: string): Promise<void> {
  const model: Model = { variables: new Map(), functions: new Map(), directory: '', restarts: 0 };
  for (const step of actions) {
    await apply(step, subject, model, root);
    const { outcome, stdout } = await subject.run(show);
    const at = stdout.lastIndexOf(root);
    assert.deepEqual(
      { outcome, shown: stdout.slice(0, at), directory: stdout.slice(at), restarts: subject.restarts() },
      {
        ...{ outcome: 'exited', shown: shown(model), directory: `${join(root, model.directory)}\n` },
        restarts: model.restarts,
      },
    );
  }
}

/** Does nothing more until it is stopped. */
const hang = `sleep 300; ${names.map((n) => `${n}=no`).join('; ')}`;

const real = (session: OpenedSession): Subject => ({
  run: (command) => session.run(command, { timeoutMs: 20_000 }),
  restarts: () => session.info().restarts,
  async cancel(command) {
    const started = await session.start(`${command}; echo ready; ${hang}`);
    await started.wait([{ output: 'ready\n' }]);
    await started.cancel();
    const { outcome = 'exited', exitCode = null, stdout = '' } = await started.wait();
    return { outcome, exitCode, stdout };
  },
  timeOut: (command) =>
    timesOut(session.cwd, (reached, timeoutMs) =>
      session.run(`${command}; echo ready; ${reached}; ${hang}`, { timeoutMs }),
    ),
});

/** Forgets the directory when a command times out. */
const forgetful = (session: OpenedSession): Subject => {
  const sound = real(session);
  return {
    ...sound,
    async timeOut(command) {
      const ended = await sound.timeOut(command);
      await sound.run(`cd ${quote(session.cwd)}`);
      return ended;
    },
  };
};

forEachShell('A session and a simple model of it', (suite) => {
  const property = (subjectOf: (session: OpenedSession) => Subject) =>
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 10 }), async (actions) => {
      const session = await suite.opened.session(suite.shell);
      try {
        for (const directory of directories) await mkdir(join(session.cwd, directory), { recursive: true });
        await agrees(actions, subjectOf(session), session.cwd);
      } finally {
        await session.destroy();
      }
    });

  it('agree whatever is done', async function () {
    const [numRuns, longestMs] = process.env.LIMPET_LONG === '1' ? [300, 1_800_000] : [20, 120_000];
    this.timeout(longestMs);
    // A failure is told with its seed, however long it takes to make it smaller.
    await fc.assert(property(real), { numRuns, endOnFailure: false, interruptAfterTimeLimit: 0.75 * longestMs });
  });

  it('disagree when the session has a bug: the model finds a directory forgotten at a time-out', async function () {
    this.timeout(120_000);
    const { failed, counterexample, errorInstance } = await fc.check(property(forgetful), {
      ...{ numRuns: 100, endOnFailure: true },
    });
    assert.ok(failed, 'the bug is found');
    const [actions = []] = counterexample ?? [];
    assert.ok(actions.some((step) => step.do === 'time out'));
    assert.ok(errorInstance instanceof assert.AssertionError, String(errorInstance));
    const { actual, expected } = errorInstance as { actual: { directory: string }; expected: { directory: string } };
    assert.notEqual(actual.directory, expected.directory);
    assert.deepEqual({ ...actual, directory: expected.directory }, expected, 'nothing but the directory differs');
  });
});
