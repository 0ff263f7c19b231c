import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { SidecarClient } from '../../../client/client';
import { EditorWindow, factsOf } from './window';

const terminalLine = '.terminal-wrapper.active .xterm-rows > div';
const rounds = 7;
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const ms = (value: number) => `${Math.round(value)} ms`;

describe('figures', () => {
  let window: EditorWindow;
  let agent: SidecarClient;

  beforeEach(async () => {
    window = await EditorWindow.open('healthy');
    await window.openLimpet();
    await window.sidecarPid();
    const { runtimeDir } = factsOf('healthy');
    agent = await SidecarClient.connect({ clientName: 'agent', sidecarPath: '', runtimeDir, start: false });
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await window.screenshot(`failed: ${this.currentTest.title}`);
    const { sessions } = await agent.request('session.list', {});
    for (const { sessionId } of sessions) await agent.request('session.destroy', { sessionId });
    agent.dispose();
    await window.close();
  });

  it('first output is on the screen no later than in VS Code’s own terminal', async () => {
    await agent.request('session.create', { name: 'quick' });
    await window.runCommand('Terminal: Create New Terminal');
    const prompt = await window.waitFor(
      () => window.terminal(),
      (text) => /[$#]$/.test(text),
    );
    assert.match(prompt, /[$#]$/);
    const inTerminal: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const seen = await window.timeFromEnter(terminalLine, `hi ${round} there`);
      await window.type(`echo hi ${round} there\n`);
      inTerminal.push(await seen());
    }
    const inSession: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await window.runCommand('Limpet: Run Command…');
      const seen = await window.timeFromEnter(terminalLine, `hi ${round} here`);
      await window.answer(`echo hi ${round} here`);
      inSession.push(await seen());
    }
    // The first of each also opens what it is shown in.
    const [ours, theirs] = [median(inSession.slice(1)), median(inTerminal.slice(1))];
    console.log(`      echo hi: on the screen after ${ms(ours)}; in the editor’s own terminal after ${ms(theirs)}`);
    assert.ok(ours <= theirs, `${ms(ours)} against ${ms(theirs)}`);
  });

  it('a flood of 200 MB leaves the window quick and the extension host small', async () => {
    await agent.request('session.create', { name: 'second' });
    const { sessionId } = await agent.request('session.create', { name: 'flood' });
    const timesOfCommand = async (word: string) => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        await window.row('second').hover();
        await window.row('second').getByRole('button', { name: 'Run Command…' }).click();
        const seen = await window.timeFromEnter(terminalLine, `${word} ${round}`);
        await window.answer(`echo ${word} ${round}`);
        times.push(await seen());
      }
      return median(times.slice(1));
    };
    const idle = await timesOfCommand('idle');
    const host = extensionHostOf(factsOf('healthy').runtimeDir);
    const before = residentMegabytes(host);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentMegabytes(host));
    }, 50);
    const { commandId } = await agent.request('exec.start', {
      sessionId,
      command: 'for i in {1..80}; do yes "a line of some length, again and again" | head -c 2500000; sleep 0.1; done',
    });
    const during = await timesOfCommand('busy');
    const { commands: running } = await agent.request('exec.list', { runningOnly: true });
    assert.equal(running.length, 1, 'it printed all the while');
    const { durationMs, stdoutBytes } = await agent.request('exec.wait', { commandId });
    await window.commandRow('for i in').click();
    await window.outputShows(/✔ exit 0/);
    clearInterval(watch);
    const grown = peak - before;
    console.log(
      `      200 MB in ${ms(durationMs ?? 0)}: a palette command took ${ms(during)}, idle ${ms(idle)}; the extension host had ${before.toFixed(0)} MB, and at most ${grown.toFixed(0)} MB more`,
    );
    assert.equal(stdoutBytes, 200_000_000);
    assert.match(await window.wholeOutput(), /… Some output is left out here\. All of it: \/.*\.log/);
    assert.ok(during <= 2 * idle, `${ms(during)} against ${ms(idle)} idle`);
    assert.ok(grown <= 50, `${grown.toFixed(0)} MB more`);
  });
});

function extensionHostOf(runtimeDir: string): number {
  const found = readdirSync('/proc').find((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const isHost = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=extensionHost');
      return isHost && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`LIMPET_RUNTIME_DIR=${runtimeDir}\0`);
    } catch {
      return false;
    }
  });
  assert.ok(found, 'the extension host runs');
  return Number(found);
}

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
