import { limpetSession } from '../engine';
import { meanInARow, takeTurns } from '../measure';
import { answeringShell } from '../rivals/answering-shell';
import { bareRoundTrip } from '../rivals/bare-round-trip';
import { naiveShell } from '../rivals/naive-shell';
import type { Rival } from '../rivals/rival';
import { spawnedBash } from '../rivals/spawned-bash';
import { tmuxPane } from '../rivals/tmux-pane';
import { figure, missingRival, type Row } from '../table';

const rounds = 40;
const inARow = 5000;
const targets = new Map([
  ['bash -c', { atMost: 0.1 }],
  ['the bare round trip', { atMost: 2 }],
]);

/** How long the shortest commands take, p50. */
export async function latency(): Promise<Row[]> {
  const tmux = await tmuxPane();
  const [ours, zsh] = [await limpetSession(), await limpetSession('zsh')];
  const bare = await bareRoundTrip();
  const bash = spawnedBash();
  const rivals = [bash, bare, await answeringShell(), naiveShell(), ...(tmux ? [tmux] : [])];
  const everyone = [ours, zsh, ...rivals];
  const blocks = new Map([
    ['bash -c', 3],
    ['tmux pane', 1],
  ]);
  const rows: Row[] = [];
  try {
    // The last is no plain builtin, so bash is given a file for it, as for everything longer.
    for (const command of ['true', 'echo hello', 'true && true']) {
      const contenders = everyone.map((rival) => ({
        name: rival.name,
        block: blocks.get(rival.name) ?? 25,
        once: () => rival.run(command),
      }));
      const [p50 = Number.NaN, p50Zsh = Number.NaN, ...others] = await takeTurns(contenders, rounds);
      for (const [index, rival] of rivals.entries()) {
        const theirs = others[index] ?? Number.NaN;
        const row = { ours: figure(p50, 'ms'), rival: figure(theirs, 'ms'), ratio: p50 / theirs };
        const target = targets.get(rival.name);
        rows.push({ what: `${command}, p50, against ${rival.name}`, ...row, ...(target ? { target } : {}) });
      }
      const spawned = others[0] ?? Number.NaN;
      rows.push({
        what: `${command} in zsh, p50, against bash -c`,
        ours: figure(p50Zsh, 'ms'),
        rival: figure(spawned, 'ms'),
        ratio: p50Zsh / spawned,
        target: { atMost: 0.1 },
      });
      if (tmux === undefined) rows.push(missingRival(`${command}, p50, against tmux pane`, 'tmux'));
    }
    rows.push(...(await saving(ours, zsh, bash)));
    const [mean, bareMean] = [await sustained(ours), await sustained(bare)];
    rows.push({
      what: `true, mean of ${inARow} in a row, against ${bare.name}`,
      ours: figure(mean, 'ms'),
      rival: figure(bareMean, 'ms'),
      ratio: mean / bareMean,
    });
  } finally {
    for (const rival of everyone) await rival.dispose();
  }
  return rows;
}

/** Before a command whose text may mean the end of the shell, its state is saved, unless it has been already. */
async function saving(ours: Rival, zsh: Rival, spawned: Rival): Promise<Row[]> {
  const contender = (rival: Rival, command: string) => ({
    name: rival.name,
    block: 5,
    once: () => rival.run(command),
  });
  const contenders = [contender(ours, ': set'), contender(zsh, ': set'), contender(spawned, 'true')];
  const [bash = Number.NaN, other = Number.NaN, theirs = Number.NaN] = await takeTurns(contenders, rounds);
  const row = (shell: string, took: number): Row => ({
    what: `a command before which the state of ${shell} is saved, p50, against bash -c true`,
    ours: figure(took, 'ms'),
    rival: figure(theirs, 'ms'),
    ratio: took / theirs,
  });
  return [row('bash', bash), row('zsh', other)];
}

const sustained = (rival: Rival) => meanInARow(inARow, () => rival.run('true'));
