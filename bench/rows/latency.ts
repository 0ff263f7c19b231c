import { limpetSession } from '../engine';
import { takeTurns } from '../measure';
import { answeringShell } from '../rivals/answering-shell';
import { bareRoundTrip } from '../rivals/bare-round-trip';
import { naiveShell } from '../rivals/naive-shell';
import { spawnedBash } from '../rivals/spawned-bash';
import { tmuxPane } from '../rivals/tmux-pane';
import { figure, type Row } from '../table';

const rounds = 40;
const targets = new Map([
  ['bash -c', { atMost: 0.1 }],
  ['the bare round trip', { atMost: 2 }],
]);

/** How long the shortest commands take, p50. */
export async function latency(): Promise<Row[]> {
  const tmux = await tmuxPane();
  const [ours, zsh] = [await limpetSession(), await limpetSession('zsh')];
  const rivals = [spawnedBash(), await bareRoundTrip(), await answeringShell(), naiveShell(), ...(tmux ? [tmux] : [])];
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
    }
  } finally {
    for (const rival of everyone) await rival.dispose();
  }
  return rows;
}
