import { openEngine } from '../engine';
import { takeTurns } from '../measure';
import { spawnedBash } from '../rivals/spawned-bash';
import { figure, type Row } from '../table';

/** From session.create to the first result, p50. */
export async function creation(): Promise<Row[]> {
  const { engine, directory, dispose } = await openEngine();
  const bare = spawnedBash('--norc');
  const created: string[] = [];
  const first = (shell: string) => async () => {
    const { sessionId } = await engine.createSession({ shell, cwd: directory });
    await engine.run({ sessionId, command: 'true' });
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
    return [{ ...row('bash', bash), target: { atMost: 4 } }, row('zsh', zsh)];
  } finally {
    await dispose();
  }
}
