import { assertDone, openEngine } from '../engine';
import { median, milliseconds, takeTurns } from '../measure';
import { spawnedBash } from '../rivals/spawned-bash';
import { figure, type Row } from '../table';

const count = 40;

/** From session.create to the first result, p50. */
export async function creation(): Promise<Row[]> {
  const { engine, directory, dispose } = await openEngine();
  const bare = spawnedBash('--norc');
  const created: string[] = [];
  const first = (shell: string) => async () => {
    const { sessionId } = await engine.createSession({ shell, cwd: directory });
    assertDone(await engine.run({ sessionId, command: 'true' }));
    created.push(sessionId);
  };
  try {
    const [bash = Number.NaN, zsh = Number.NaN, theirs = Number.NaN] = await takeTurns(
      [
        { name: 'bash', once: first('bash') },
        { name: 'zsh', once: first('zsh') },
        { name: bare.name, once: () => bare.run('true') },
        {
          name: 'tidy',
          once: () => Promise.all(created.splice(0).map((sessionId) => engine.destroySession(sessionId))),
        },
      ],
      60,
    );
    const row = (shell: string, ours: number): Row => ({
      what: `create a ${shell} session to first result, p50, against bash --norc -c true`,
      ours: figure(ours, 'ms'),
      rival: figure(theirs, 'ms'),
      ratio: ours / theirs,
    });
    const [inARow, theirsInARow] = [await p50InARow(first('bash')), await p50InARow(() => bare.run('true'))];
    return [
      { ...row('bash', bash), target: { atMost: 4 } },
      row('zsh', zsh),
      {
        what: `create ${count} bash sessions in a row, each to first result, p50, against bash --norc -c true`,
        ours: figure(inARow, 'ms'),
        rival: figure(theirsInARow, 'ms'),
        ratio: inARow / theirsInARow,
      },
    ];
  } finally {
    await dispose();
  }
}

/** Without a pause there is no time to have the next shell ready. */
async function p50InARow(once: () => Promise<unknown>): Promise<number> {
  const samples: number[] = [];
  while (samples.length < count) samples.push(await milliseconds(once));
  return median(samples);
}
