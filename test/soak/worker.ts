import { join as joinPath } from 'node:path';
import { LimpetError } from '../../protocol/errors';
import type { StreamEvent } from '../../protocol/values';
import type { Departures } from './hub';
import type { Random } from './random';
import { join, type Manner, type Subject } from './subject';
import type { Streams } from './tally';
import { Waits } from './waits';

/** What the session should remember. */
interface Model {
  variables: Map<string, string>;
  exported: Set<string>;
  functions: Map<string, string>;
  directory: string;
  count: number;
}

interface InBackground {
  commandId: string;
  exitCode: number;
  expected: Streams;
  since: Departures;
  isEndless: boolean;
}

export interface Supplies {
  /** Random bytes that commands print parts of, in a file called `blob` in every directory. */
  blob: Buffer;
  root: string;
}

export const directories = ['', 'one', 'two words', 'one/deep'] as const;
const names = ['a', 'b', 'c', 'd'] as const;
const values = ['', 'x', 'two words', "it's", '"q"', '$HOME', '`x`', 'a\nb', '\\', '*', 'ü€', '$(exit 3)'];
const manners: readonly Manner[] = ['run', 'run', 'stream', 'start'];
const none = Buffer.alloc(0);
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Does one random thing after the other to one session, and compares with what the model says. */
export class Worker {
  private model = empty();
  private background: InBackground[] = [];
  private readonly waits: Waits;
  private last: { commandId: string; lines: number } | undefined;

  constructor(
    readonly subject: Subject,
    private readonly random: Random,
    private readonly supplies: Supplies,
  ) {
    this.waits = new Waits(subject, random);
  }

  async begin(): Promise<void> {
    await this.subject.create();
    this.model = empty();
    this.last = undefined;
  }

  /** One thing, at random. */
  async step(): Promise<void> {
    const act = this.random.weighted<() => Promise<void>>([
      [20, () => this.print()],
      [8, () => this.show()],
      [6, () => this.assign()],
      [6, () => this.increase()],
      [4, () => this.changeDirectory()],
      [3, () => this.elsewhere()],
      [2, () => this.define()],
      [2, () => this.misspell()],
      [4, () => this.feed()],
      [3, () => this.converse()],
      [3, () => this.cancel()],
      [3, () => this.timeOut()],
      [4, () => this.endShell()],
      [4, () => this.startBehind()],
      [4, () => this.finishBehind()],
      [4, () => this.readBack()],
      [1, () => this.rename()],
      [3, () => this.follow()],
      [2, () => this.leaveBehind()],
      [2, () => this.burst()],
      [0.3, () => this.waits.forPort()],
      [1, () => this.waits.forSilence()],
      [1, () => this.waits.forFile(this.path)],
      [1, () => this.recreate()],
    ]);
    await act();
  }

  /** Everything it started has ended as it should, and the session is gone. */
  async finish(): Promise<void> {
    while (this.background.length > 0) await this.finishBehind();
    await this.show();
    await this.subject.destroy();
  }

  private get tally() {
    return this.subject.tally;
  }

  private get path(): string {
    return joinPath(this.supplies.root, this.model.directory);
  }

  private what(action: string): string {
    return `${this.subject.sessionId} (${this.subject.shell}) ${action}`;
  }

  /** Runs a command that must end by itself with this code and this output. */
  private async exact(
    action: string,
    command: string,
    expected: { exitCode?: number; outcome?: string } & Partial<Streams>,
    extras: { stdin?: string; env?: Record<string, string>; cwd?: string } = {},
  ): Promise<string> {
    const performed = await this.subject.perform(command, extras, this.random.pick(manners));
    const { outcome, exitCode, cwd } = performed.ended;
    const shown = this.what(`${action} ${JSON.stringify(command.slice(0, 300))} as ${performed.commandId}`);
    this.tally.same(
      shown,
      { outcome, exitCode, cwd },
      { outcome: expected.outcome ?? 'exited', exitCode: expected.exitCode ?? 0, cwd: this.path },
    );
    const streams = await this.subject.output(performed, this.random.chance(0.2));
    const { stdout = none, stderr = none } = expected;
    this.tally.sameOutput(shown, streams, { stdout, stderr }, performed.departed);
    return performed.commandId;
  }

  /** Sizes from nothing to a few megabytes, mostly small. */
  private size(): number {
    const { random } = this;
    return random.weighted([
      [3, 0],
      [6, random.between(1, 200)],
      [4, random.between(201, 70_000)],
      [1, random.between(70_001, this.supplies.blob.length)],
    ]);
  }

  private async print(): Promise<void> {
    const { random } = this;
    const { blob } = this.supplies;
    const [out, err, exitCode] = [this.size(), this.size(), random.between(0, 120)];
    const inBetween = random.chance(0.2) ? `sleep 0.${random.between(0, 3)}; ` : '';
    await this.exact(
      'print',
      `head -c ${out} blob; ${inBetween}tail -c ${err} blob >&2; (exit ${exitCode})`,
      { exitCode, stdout: blob.subarray(0, out), stderr: blob.subarray(blob.length - err) },
      random.chance(0.2) ? { env: { ONLY_HERE: 'x' } } : {},
    );
  }

  private async show(): Promise<void> {
    const { variables, exported, functions, count } = this.model;
    const command = [
      ...names.map((name) => `printf '[%s]' "\${${name}-unset}"`),
      `sh -c 'printf "{%s}" ${names.map((name) => `"\${${name}-unset}"`).join(' ')}'`,
      ...names.map((name) => `{ f_${name} 2>/dev/null || printf none; }`),
      `printf "%s %s" "\${count-0}" "\${ONLY_HERE-unset}"`,
    ].join('; ');
    const stdout = [
      ...names.map((name) => `[${variables.get(name) ?? 'unset'}]`),
      ...names.map((name) => `{${exported.has(name) ? variables.get(name) : 'unset'}}`),
      ...names.map((name) => functions.get(name) ?? 'none'),
      `${count} unset`,
    ].join('');
    await this.exact('show', command, { stdout: Buffer.from(stdout) });
  }

  private async assign(): Promise<void> {
    const name = this.random.pick(names);
    const value = this.random.pick(values);
    const isExport = this.random.chance(0.4);
    await this.exact('assign', `${isExport ? 'export ' : ''}${name}=${quote(value)}`, {});
    this.model.variables.set(name, value);
    if (isExport) this.model.exported.add(name);
  }

  /** Run twice, or not at all, it would show. */
  private async increase(): Promise<void> {
    await this.exact('increase', 'count=$((count + 1))', {});
    this.model.count++;
  }

  private async changeDirectory(): Promise<void> {
    const directory = this.random.pick(directories);
    this.model.directory = directory;
    await this.exact('cd', `cd ${quote(this.path)}`, {});
  }

  /** A directory for one command only: the session stays where it is. */
  private async elsewhere(): Promise<void> {
    const directory = this.random.pick(directories);
    const path = joinPath(this.supplies.root, directory);
    const exitCode = this.random.between(0, 120);
    const stdout = Buffer.from(`${path}\n`);
    await this.exact('elsewhere', `pwd; (exit ${exitCode})`, { exitCode, stdout }, { cwd: path });
    await this.exact('back', 'pwd', { stdout: Buffer.from(`${this.path}\n`) });
  }

  private async define(): Promise<void> {
    const name = this.random.pick(names);
    const value = this.random.pick(values);
    await this.exact('define', `f_${name}() { printf '%s' ${quote(value)}; }`, {});
    this.model.functions.set(name, value);
  }

  private async misspell(): Promise<void> {
    const { ended } = await this.subject.perform(this.random.pick(['echo "', 'if true', 'nosuchprogram', '( ) (']));
    const { outcome, exitCode } = ended;
    if (outcome !== 'exited' || exitCode === 0 || exitCode === null) {
      this.tally.mismatch(this.what(`misspell: ${outcome} ${exitCode}`));
    }
  }

  private async feed(): Promise<void> {
    const stdin = `${this.random.pick(values)} ${'x'.repeat(this.random.between(0, 50_000))}\n`;
    await this.exact('feed', 'cat; (exit 4)', { exitCode: 4, stdout: Buffer.from(stdin) }, { stdin });
  }

  /** Input that is kept open: what is written comes back, then the end. */
  private async converse(): Promise<void> {
    const since = { ...this.subject.hub.departures };
    const commandId = await this.subject.start('cat; (exit 2)', { keepStdinOpen: true });
    this.tally.commands++;
    let [certain, possible] = ['', ''];
    for (let n = this.random.between(1, 4); n > 0; n--) {
      const data = `${n} ${this.random.pick(values)}\n`;
      const client = await this.subject.hub.connected();
      try {
        await client.request('exec.input', { commandId, data });
        certain += data;
        possible += data;
      } catch (thrown) {
        if (!(await this.subject.hub.hasLeft(client, thrown))) throw thrown;
        // Whether it arrived cannot be known, so it is not sent again.
        possible += data;
      }
    }
    await this.subject.hub.ask('exec.input', { commandId, eof: true }).catch((thrown: unknown) => {
      const isOver = thrown instanceof LimpetError && ['command_finished', 'invalid_params'].includes(thrown.code);
      if (!isOver) throw thrown;
    });
    const ended = await this.subject.end(commandId);
    const departed = this.subject.departedSince(since);
    const shown = this.what(`converse as ${commandId}`);
    this.tally.same(shown, [ended.outcome, ended.exitCode], ['exited', 2]);
    const { stdout } = await this.subject.output({ ended, commandId });
    if (certain === possible) {
      this.tally.sameOutput(shown, { stdout, stderr: none }, { stdout: Buffer.from(certain), stderr: none }, departed);
    }
  }

  private async cancel(): Promise<void> {
    const command = this.random.pick([
      'echo ready; sleep 300',
      'echo ready; while :; do :; done',
      'echo ready; sleep 300 | cat',
      'echo ready; sh -c \'trap "" INT; sleep 300\'',
    ]);
    const background = this.random.chance(0.3);
    const since = { ...this.subject.hub.departures };
    const commandId = await this.subject.start(command, { background });
    this.tally.commands++;
    // What a killed sidecar had in hand is not there to be waited for.
    const { met } = await this.subject.hub.ask('exec.wait', {
      commandId,
      until: [{ output: 'ready' }, { silenceMs: 20_000 }],
    });
    const { kills } = this.subject.departedSince(since);
    if (kills === 0) this.tally.same(this.what(`wait for what ${commandId} prints`), met, 'output');
    if (this.random.chance(0.5)) await pause(this.random.between(0, 50));
    await this.subject.hub.ask('exec.cancel', { commandId }).catch((thrown: unknown) => {
      if (!(thrown instanceof LimpetError && thrown.code === 'command_finished')) throw thrown;
    });
    const { outcome } = await this.subject.end(commandId);
    this.tally.same(this.what(`cancel ${command} as ${commandId}`), outcome, 'cancelled');
  }

  private async timeOut(): Promise<void> {
    const timeoutMs = this.random.between(50, 400);
    const { ended, commandId } = await this.subject.perform('printf before; sleep 300', { timeoutMs });
    this.tally.same(this.what(`time out as ${commandId}`), ended.outcome, 'timed_out');
    if (!['', 'before'].includes((ended.stdout ?? '').trimEnd())) {
      this.tally.mismatch(this.what(`time out printed ${JSON.stringify(ended.stdout)}`));
    }
  }

  private async endShell(): Promise<void> {
    const exitCode = this.random.between(0, 120);
    const [command, code] = this.random.pick([
      [`exit ${exitCode}`, exitCode],
      [`set -e; (exit ${exitCode || 1})`, exitCode || 1],
      ['exec true', 0],
      ['kill -9 $$', null],
    ] as const);
    const { ended, commandId } = await this.subject.perform(command);
    const shown = this.what(`${command} as ${commandId}`);
    const { kills, handOvers } = this.subject.hub.departures;
    // Only its parent is told how a process ended that could not note it, and the parent may be gone.
    const notes = command.startsWith('exit') || (this.subject.shell === 'bash' && command.startsWith('set'));
    const isUntold = !notes && kills + handOvers > 0 && ended.exitCode === null;
    this.tally.same(shown, [ended.outcome, isUntold ? code : ended.exitCode], ['shell_exited', code]);
    if (command.startsWith('set -e')) await this.exact('set +e', 'set +e', {});
    await this.show();
  }

  private async startBehind(): Promise<void> {
    if (this.background.length >= 3) return this.finishBehind();
    const { random } = this;
    const { blob } = this.supplies;
    const since = { ...this.subject.hub.departures };
    const isEndless = random.chance(0.2);
    const [out, exitCode] = [this.size(), random.between(0, 120)];
    const wait = isEndless ? 'sleep 300' : `sleep 0.${random.between(0, 9)}`;
    const commandId = await this.subject.start(`head -c ${out} blob; ${wait}; echo end >&2; (exit ${exitCode})`, {
      background: true,
    });
    this.tally.commands++;
    const expected = { stdout: blob.subarray(0, out), stderr: isEndless ? none : Buffer.from('end\n') };
    this.background.push({ commandId, exitCode, expected, since, isEndless });
  }

  private async finishBehind(): Promise<void> {
    const one = this.background.shift();
    if (one === undefined) return;
    const { commandId, exitCode, expected, since, isEndless } = one;
    const shown = this.what(`background ${commandId}`);
    if (isEndless) {
      await this.subject.hub.ask('exec.cancel', { commandId }).catch((thrown: unknown) => {
        if (!(thrown instanceof LimpetError && thrown.code === 'command_finished')) throw thrown;
      });
    }
    const ended = await this.subject.end(commandId);
    const departed = this.subject.departedSince(since);
    if (isEndless) return this.tally.same(shown, ended.outcome, 'cancelled');
    this.tally.same(shown, [ended.outcome, ended.exitCode], ['exited', exitCode]);
    this.tally.sameOutput(shown, await this.subject.output({ ended, commandId }), expected, departed);
  }

  /** What was printed can be read again from a cursor, by its last lines, by a pattern. */
  private async readBack(): Promise<void> {
    if (this.last === undefined) {
      const lines = this.random.between(1, 3000);
      const text = Array.from({ length: lines }, (_, n) => `${n + 1}\n`).join('');
      const since = { ...this.subject.hub.departures };
      const commandId = await this.exact('seq', `seq 1 ${lines}`, { stdout: Buffer.from(text) });
      // What a killed sidecar lost is not there to be read.
      if (this.subject.departedSince(since).kills === 0) this.last = { commandId, lines };
      return;
    }
    const { commandId, lines } = this.last;
    this.last = undefined;
    const read = async (query: object) => {
      const { chunks } = await this.subject.hub.ask('exec.output', { commandId, stream: 'stdout', ...query });
      return join(chunks).stdout.toString();
    };
    const shown = this.what(`read back ${commandId}`);
    const count = this.random.between(1, 20);
    const numbers = (from: number, to: number) =>
      Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => `${from + n}\n`).join('');
    this.tally.same(shown, await read({ tailLines: count }), numbers(Math.max(1, lines - count + 1), lines));
    const sevens = Array.from({ length: lines }, (_, n) => n + 1).filter((n) => String(n).endsWith('7'));
    this.tally.same(shown, await read({ grep: '7$' }), sevens.map((n) => `${n}\n`).join(''));
    this.tally.same(shown, await read({ fromSeq: 1 }), numbers(1, lines));
  }

  private async rename(): Promise<void> {
    const name = `renamed ${this.random.between(1, 1e9)}`;
    const { sessionId } = this.subject;
    await this.subject.hub.ask('session.rename', { sessionId, name });
    const info = await this.subject.hub.ask('session.info', { sessionId });
    this.tally.same(this.what('rename'), info.name, name);
  }

  /** Someone follows a command: slowly to its end, or only for a while and is gone. */
  private async follow(): Promise<void> {
    const { random } = this;
    const { blob } = this.supplies;
    const size = random.between(1000, 600_000);
    const since = { ...this.subject.hub.departures };
    const commandId = await this.subject.start(`head -c ${size} blob; sleep 0.1; head -c 100 blob`, {
      background: random.chance(0.5),
    });
    this.tally.commands++;
    const vanishes = random.chance(0.5);
    const follower = await this.subject.hub.extra();
    const events: StreamEvent[] = [];
    const following = follower
      .stream('exec.follow', { commandId }, async (event) => {
        events.push(event);
        if (random.chance(0.1)) await pause(5);
      })
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    if (vanishes) {
      await pause(random.between(0, 120));
      follower.dispose();
      await following;
    }
    const expected = Buffer.concat([blob.subarray(0, size), blob.subarray(0, 100)]);
    const ended = await this.subject.end(commandId);
    const departed = this.subject.departedSince(since);
    const shown = this.what(`follow ${commandId}`);
    this.tally.same(shown, [ended.outcome, ended.exitCode], ['exited', 0]);
    const streams = await this.subject.output({ ended, commandId });
    this.tally.sameOutput(shown, streams, { stdout: expected, stderr: none }, departed);
    const thrown = await following;
    follower.dispose();
    // Looked at last: the sidecar may have gone while the end was waited for.
    const { kills, handOvers } = this.subject.hub.departures;
    const isThere = kills === since.kills && handOvers === since.handOvers;
    if (!vanishes && isThere && thrown !== undefined) throw thrown;
    if (!vanishes && isThere) {
      const pieces = events.flatMap((event) => (event.event === 'gap' ? [] : [{ ...event, stream: event.event }]));
      this.tally.same(shown, [events.length - pieces.length, join(pieces).stdout.equals(expected)], [0, true]);
    }
  }

  /** What a command leaves running goes on printing to that command's output, and to no other's. */
  private async leaveBehind(): Promise<void> {
    const since = { ...this.subject.hub.departures };
    const { commandId, ended } = await this.subject.perform('(sleep 0.3; echo late) & echo early');
    this.tally.same(this.what(`leave behind ${commandId}`), [ended.outcome, ended.exitCode], ['exited', 0]);
    await this.print();
    for (let n = 0; ; n++) {
      const { chunks } = await this.subject.hub.ask('exec.output', { commandId });
      const { stdout } = join(chunks);
      if (stdout.toString() === 'early\nlate\n') return;
      if (n < 100) await pause(50);
      else {
        const departed = this.subject.departedSince(since);
        const expected = { stdout: Buffer.from('early\nlate\n'), stderr: none };
        return this.tally.sameOutput(this.what(`late ${commandId}`), { stdout, stderr: none }, expected, departed);
      }
    }
  }

  /** Several at once keep their order and do not mix. */
  private async burst(): Promise<void> {
    const { count } = this.model;
    const several = Array.from({ length: 5 }, (_, n) => n);
    this.model.count += several.length;
    const since = { ...this.subject.hub.departures };
    const performed = await Promise.all(several.map(() => this.subject.perform('count=$((count + 1)); echo $count')));
    const { kills, handOvers } = this.subject.departedSince(since);
    const shown = this.what(`burst after ${kills} kills and ${handOvers} hand-overs`);
    const expected = several.map((n) => count + n + 1);
    const ends = performed.map(({ ended: { outcome, exitCode } }) => `${outcome} ${exitCode}`);
    this.tally.same(
      shown,
      ends,
      several.map(() => 'exited 0'),
    );
    // What a killed sidecar had in hand of what was said is lost.
    const heard = performed.flatMap(({ ended: { stdout = '' } }) =>
      stdout === '' && kills > 0 ? [] : [Number(stdout)],
    );
    // One that had to be sent again after a departure comes later.
    const said = kills + handOvers === 0 ? heard : heard.sort((a, b) => a - b);
    const isHeard = (n: number) => heard.includes(n);
    this.tally.same(shown, said, heard.length >= several.length - kills ? expected.filter(isHeard) : expected);
    // A status is never lost: each has run, and once.
    await this.exact('count', `[ "$count" = ${this.model.count} ]`, {});
  }

  private async recreate(): Promise<void> {
    while (this.background.length > 0) await this.finishBehind();
    await this.subject.destroy();
    await this.begin();
    await this.show();
  }
}

function empty(): Model {
  return { variables: new Map(), exported: new Set(), functions: new Map(), directory: '', count: 0 };
}
