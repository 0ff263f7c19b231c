import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openLog } from '../../sidecar/daemon/log';
import { RotatingFile } from '../../sidecar/daemon/rotating-file';
import { Sandbox } from '../helpers/sidecar';

describe('the log', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

  it('is structured, levelled and for its owner alone', () => {
    const path = join(sandbox.dir, 'a.log');
    const log = openLog(path, 'info');
    log.debug({}, 'hidden');
    log.info({ commandId: 'c-1', bytes: 12 }, 'started');
    log.flush();
    const [line = '{}', ...rest] = linesOf(path);
    const { time, pid, ...record } = JSON.parse(line);
    assert.deepEqual([record, rest], [{ level: 30, commandId: 'c-1', bytes: 12, msg: 'started' }, []]);
    assert.ok(Number.isFinite(Date.parse(time)) && pid === process.pid);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('never takes more room than its parts may have', () => {
    const path = join(sandbox.work, 'a.log');
    const file = new RotatingFile(path, { maxBytes: 1000, keep: 2 });
    for (let n = 0; n < 500; n++) {
      file.write(`${n} ${'x'.repeat(90)}\n`);
      file.flush();
    }
    file.close();
    assert.deepEqual(readdirSync(sandbox.work).sort(), ['a.log', 'a.log.1', 'a.log.2']);
    for (const name of readdirSync(sandbox.work)) assert.ok(statSync(join(sandbox.work, name)).size <= 1000, name);
    assert.match(linesOf(path).at(-1) ?? '', /^499 /);
  });

  it('loses no line when two sidecars share and rotate it', () => {
    const path = join(sandbox.work, 'a.log');
    const [one, two] = [0, 1].map(() => new RotatingFile(path, { maxBytes: 10_000, keep: 5 }));
    for (let n = 0; n < 200; n++) {
      const file = n % 2 === 0 ? one : two;
      file?.write(`${n} ${'x'.repeat(200)}\n`);
      file?.flush();
    }
    const numbers = readdirSync(sandbox.work).flatMap((name) =>
      linesOf(join(sandbox.work, name)).map((line) => Number(line.split(' ')[0])),
    );
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: 200 }, (_, n) => n),
    );
  });

  it('goes on when its directory is removed and comes back', () => {
    const path = join(sandbox.work, 'a.log');
    const file = new RotatingFile(path);
    rmSync(sandbox.work, { recursive: true });
    file.write('lost\n');
    file.flush();
    file.close();
  });
});
