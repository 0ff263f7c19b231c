import assert from 'node:assert/strict';
import type { SidecarClient } from '../../../client/client';
import { leaveClean, useSharedWindow } from './shared-window';
import { median, ms, terminalLine, timeFromEnter } from './timing';
import type { EditorWindow } from './window';

const rounds = 21;
const runTheirs = 'Terminal: Run Selected Text In Active Terminal';

/** `echo hi` until it can be seen, beside the editor's own terminal: each side in the same arrangement, by turns. */
describe('echo hi', function () {
  this.timeout(600_000);
  let window: EditorWindow;
  let agent: SidecarClient;

  useSharedWindow((itsWindow, itsAgent) => {
    window = itsWindow;
    agent = itsAgent;
  });

  afterEach(() => closeTerminals());

  after(async () => {
    await window.runCommand('View: Revert and Close Editor');
    await editor().first().waitFor({ state: 'detached' });
  });

  it('is there as soon in a terminal that is open', async () => {
    await agent.request('session.create', { name: 'quick' });
    await openTheirs();
    const times = await byTurns(
      async (text) => {
        await showTerminal('bash');
        await window.runCommand('Terminal: Focus Terminal');
        const seen = await timeFromEnter(window, text);
        await window.type(`echo ${text}\n`);
        return seen();
      },
      async (text) => {
        await showTerminal('quick');
        return runOurs(text);
      },
    );
    report('with its terminal open', times);
  });

  it('is there as soon when the panel shows something else', async () => {
    await agent.request('session.create', { name: 'quick' });
    await openTheirs();
    const times = await byTurns(
      async (text) => {
        await select(`echo ${text}`);
        await showTerminal('bash');
        await showProblems();
        await window.findCommand(runTheirs);
        const seen = await timeFromEnter(window, text);
        await window.page.keyboard.press('Enter');
        return seen();
      },
      async (text) => {
        await showTerminal('quick');
        await showProblems();
        return runOurs(text);
      },
    );
    report('when the panel has to change', times);
  });

  it('is there as soon when there is no terminal yet', async () => {
    const times = await byTurns(
      async (text) => {
        await select(`echo ${text}`);
        await window.findCommand(runTheirs);
        const seen = await timeFromEnter(window, text);
        await window.page.keyboard.press('Enter');
        const elapsed = await seen();
        await closeTerminals();
        return elapsed;
      },
      async (text) => {
        const elapsed = await runOurs(text);
        await leaveClean(window, agent);
        await closeTerminals();
        return elapsed;
      },
    );
    report('with no terminal and no session', times);
  });

  async function byTurns(theirs: (text: string) => Promise<number>, ours: (text: string) => Promise<number>) {
    const times: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
    for (let round = 0; round < rounds; round++) {
      times.theirs.push(await theirs(`hi ${round} there`));
      times.ours.push(await ours(`hi ${round} here`));
    }
    return times;
  }

  function report(arrangement: string, times: { ours: number[]; theirs: number[] }): void {
    const [ours, theirs] = [median(times.ours), median(times.theirs)];
    console.log(
      `      echo hi ${arrangement}: on the screen after ${ms(ours)}; in the editor’s own after ${ms(theirs)}`,
    );
    console.log(`        ${times.ours.map(Math.round).join(' ')} / ${times.theirs.map(Math.round).join(' ')}`);
    assert.ok(ours <= theirs, `${ms(ours)} against ${ms(theirs)}`);
  }

  async function runOurs(text: string): Promise<number> {
    await window.runCommand('Limpet: Run Command…');
    await window.question.waitFor();
    const seen = await timeFromEnter(window, text);
    await window.answer(`echo ${text}`);
    return seen();
  }

  async function openTheirs(): Promise<void> {
    await window.runCommand('Terminal: Create New Terminal');
    await window.terminalShows(/[$#]$/);
  }

  async function showTerminal(name: string): Promise<void> {
    const tab = window.page.locator('.terminal-tabs-entry').filter({ hasText: name });
    if (await tab.first().isVisible()) await tab.first().click();
  }

  async function showProblems(): Promise<void> {
    await window.runCommand('Problems: Focus on Problems View');
    await window.page.locator(terminalLine).first().waitFor({ state: 'hidden' });
  }

  const editor = () => window.page.locator('.part.editor .monaco-editor');

  /** As the only text of an editor, all of it selected. */
  async function select(text: string): Promise<void> {
    if (!(await editor().first().isVisible())) await window.runCommand('File: New Untitled Text File');
    await editor().first().click();
    await window.page.keyboard.press('Control+a');
    await window.page.keyboard.type(text);
    await window.page.keyboard.press('Control+a');
  }

  async function closeTerminals(): Promise<void> {
    const terminals = window.page.locator('.terminal-wrapper');
    if ((await terminals.count()) === 0) return;
    await window.runCommand('Terminal: Kill All Terminals');
    await terminals.first().waitFor({ state: 'detached' });
  }
});
