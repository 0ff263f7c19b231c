import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { holdersOf, processesOfCommand } from '../../sidecar/processes/command-processes';
import { identify, type ProcessIdentity } from '../../sidecar/processes/identity';
import { until } from '../helpers/engine';
import { childrenOf, isAlive } from '../helpers/processes';

/** As the kernel would tell of an earlier process with the same pid. */
const earlier = ({ pid, startTime }: ProcessIdentity) => ({ pid, startTime: String(Number(startTime) - 1) });

describe('The processes of a command whose subshell is gone', () => {
  let other: ChildProcess;
  let program: ProcessIdentity;
  let child: ProcessIdentity;
  beforeEach(async () => {
    other = spawn('bash', ['-c', 'sleep 300 & wait'], { stdio: 'ignore' });
    const pid = other.pid ?? 0;
    await until('the other program has a child', () => childrenOf(pid).length > 0);
    const found = [pid, ...childrenOf(pid)].map(identify);
    assert.ok(found[0] && found[1]);
    [program, child] = [found[0], found[1]];
  });
  afterEach(() => {
    for (const { pid } of [program, child]) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });

  const found = (traces: { root: ProcessIdentity; others?: ProcessIdentity[] }) =>
    processesOfCommand({ commandId: 's-1:1', fifos: [], others: [], since: undefined, startedAt: 0, ...traces });

  it('are not the children of the program that has its pid now', () => {
    assert.deepEqual(found({ root: earlier(program) }), []);
    assert.deepEqual(found({ root: program }), [child]);
  });

  it('leave out what is known to be another’s, and not what has a pid of the dead', () => {
    assert.deepEqual(found({ root: program, others: [child] }), []);
    assert.deepEqual(found({ root: program, others: [earlier(child)] }), [child]);
  });
});

describe('Who holds an output open', () => {
  it('is told of a process that has the pid of a dead keeper', () => {
    const holder = spawn('sleep', ['300'], { stdio: 'ignore' });
    try {
      const identity = identify(holder.pid ?? 0);
      assert.ok(identity);
      const holders = (except: ProcessIdentity) =>
        holdersOf(['/dev/null'], { except: [except], since: identity.startTime }).filter(
          ({ pid }) => pid === identity.pid,
        ).length;
      assert.deepEqual([holders(earlier(identity)), holders(identity)], [1, 0]);
    } finally {
      holder.kill('SIGKILL');
    }
  });
});
