import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { SidecarClient } from '../../../client/client';
import { factsOf } from './facts';
import { useSharedWindow } from './shared-window';
import { median, ms, timeFromEnter } from './timing';
import type { EditorWindow } from './window';

/** Idle and busy by turns, so that what else the machine does counts for both. */
const turns = 3;
const rounds = 3;
const line = 'a line of some length, again and again';
const floods = {
  steady: `for i in {1..160}; do yes "${line}" | head -c 1250000; sleep 0.1; done`,
  'flat out': `yes "${line}" | head -c 200000000`,
};

class Times {
  /** From the last Enter until the output is there. */
  readonly run: number[] = [];
  /** From F1 on, as fast as the test types. */
  readonly whole: number[] = [];
}

/** What a person waits for while another command prints 200 MB, and the tree and a second session are used. */
describe('a flood of 200 MB', function () {
  this.timeout(600_000);
  let window: EditorWindow;
  let agent: SidecarClient;

  useSharedWindow((itsWindow, itsAgent) => {
    window = itsWindow;
    agent = itsAgent;
  });

  for (const [pace, flood] of Object.entries(floods)) {
    it(`printed ${pace} leaves the palette quick and the extension host small`, async () => {
      const { sessionId: secondId } = await agent.request('session.create', { name: 'second' });
      const { sessionId } = await agent.request('session.create', { name: 'flood' });
      const times = { idle: new Times(), busy: new Times() };
      const floodIds: string[] = [];
      const flooding = async () => {
        const { commands } = await agent.request('exec.list', { sessionId, runningOnly: true });
        if (commands.length > 0) return;
        floodIds.push((await agent.request('exec.start', { sessionId, command: flood })).commandId);
      };
      const measure = async (word: 'idle' | 'busy', turn: number) => {
        for (let round = 0; round < rounds; round++) {
          const text = `${word} ${turn} ${round}`;
          await window.row('flood').click();
          await agent.request('exec.run', { sessionId: secondId, command: `: ${text}` });
          if (word === 'busy') await flooding();
          const started = performance.now();
          await window.runCommand('Limpet: Run Command…');
          await window.page.getByRole('option', { name: /^second/ }).click();
          await window.question.waitFor();
          const seen = await timeFromEnter(window, text);
          if (word === 'busy') await flooding();
          await window.answer(`echo ${text}`);
          times[word].run.push(await seen());
          times[word].whole.push(performance.now() - started);
        }
      };
      const floodsEnded = async () => {
        for (const commandId of floodIds) {
          const { stdoutBytes } = await agent.request('exec.wait', { commandId, maxOutputBytes: 1 });
          assert.equal(stdoutBytes, 200_000_000);
        }
      };

      // The first of all also makes the terminal it is shown in.
      await measure('idle', -1);
      times.idle = new Times();
      const host = extensionHostOf(factsOf('healthy').runtimeDir);
      const memoryBefore = residentMegabytes(host);
      let peak = memoryBefore;
      const watch = setInterval(() => {
        peak = Math.max(peak, residentMegabytes(host));
      }, 50).unref();
      for (let turn = 0; turn < turns; turn++) {
        await measure('idle', turn);
        await measure('busy', turn);
        await floodsEnded();
      }
      await window.row('flood').click({ button: 'right' });
      await window.choose('Show Output');
      await window.outputShows(/✔ exit 0/);
      clearInterval(watch);
      const grown = peak - memoryBefore;
      const medians = ({ run, whole }: Times) => ({ run: median(run), whole: median(whole) });
      const [idle, busy] = [medians(times.idle), medians(times.busy)];
      console.log(
        [
          `      ${floodIds.length} × 200 MB ${pace}: a command shows after ${ms(busy.run)}, idle ${ms(idle.run)};`,
          `from F1 to its output ${ms(busy.whole)}, idle ${ms(idle.whole)};`,
          `the extension host had ${memoryBefore.toFixed(0)} MB, and at most ${grown.toFixed(0)} MB more`,
        ].join(' '),
      );
      console.log(`        ${times.busy.run.map(Math.round).join(' ')} / ${times.idle.run.map(Math.round).join(' ')}`);
      assert.match(await window.wholeOutput(), /… Some output is left out here\. All of it: \/.*\.log/);
      assert.ok(busy.run <= 2 * idle.run, `${ms(busy.run)} against ${ms(idle.run)} idle`);
      assert.ok(busy.whole <= 2 * idle.whole, `${ms(busy.whole)} against ${ms(idle.whole)} idle, from F1`);
      assert.ok(grown <= 50, `${grown.toFixed(0)} MB more`);
    });
  }
});

/** The youngest: those of windows that were closed may live on for a while. */
function extensionHostOf(runtimeDir: string): number {
  const hosts = readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const isHost = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=extensionHost');
      return isHost && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`LIMPET_RUNTIME_DIR=${runtimeDir}\0`);
    } catch {
      return false;
    }
  });
  const [youngest] = hosts.sort((a, b) => startedAt(b) - startedAt(a));
  assert.ok(youngest, 'the extension host runs');
  return Number(youngest);
}

const startedAt = (pid: string) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19]);

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
