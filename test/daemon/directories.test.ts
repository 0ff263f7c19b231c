import assert from 'node:assert/strict';
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../../protocol/exit-codes';
import { preparePrivateDirectory } from '../../sidecar/daemon/private-directory';
import { Refusal } from '../../sidecar/daemon/refusal';
import { Sandbox } from '../helpers/sidecar';

describe('a private directory', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.dispose());

  const refuses = (path: string) =>
    assert.throws(
      () => preparePrivateDirectory(path),
      (thrown) => thrown instanceof Refusal && thrown.exitCode === exitCodes.refused,
    );

  it('is made for its owner alone, and made again without complaint', () => {
    const path = join(sandbox.dir, 'a', 'b');
    preparePrivateDirectory(path);
    preparePrivateDirectory(path);
    assert.equal(statSync(path).mode & 0o777, 0o700);
  });

  it('is tightened when others could only read it', () => {
    const path = join(sandbox.dir, 'readable');
    mkdirSync(path);
    chmodSync(path, 0o755);
    preparePrivateDirectory(path);
    assert.equal(statSync(path).mode & 0o777, 0o700);
  });

  it('is refused when others could write to it', () => {
    const path = join(sandbox.dir, 'writable');
    mkdirSync(path);
    for (const mode of [0o777, 0o770, 0o702, 0o1777]) {
      chmodSync(path, mode);
      refuses(path);
      assert.equal(statSync(path).mode & 0o7777, mode);
    }
  });

  it('is refused when it is a link, a file, or below a file', () => {
    const target = join(sandbox.dir, 'target');
    mkdirSync(target, { mode: 0o700 });
    symlinkSync(target, join(sandbox.dir, 'link'));
    symlinkSync(join(sandbox.dir, 'nowhere'), join(sandbox.dir, 'dangling'));
    writeFileSync(join(sandbox.dir, 'file'), '');
    for (const name of ['link', 'dangling', 'file', 'file/below']) refuses(join(sandbox.dir, name));
    assert.ok(lstatSync(join(sandbox.dir, 'link')).isSymbolicLink());
    assert.deepEqual(readdirSync(target), []);
  });

  it('keeps a sidecar from starting when it is not safe', async () => {
    mkdirSync(sandbox.runtimeDir);
    chmodSync(sandbox.runtimeDir, 0o777);
    const program = sandbox.sidecar();
    assert.equal(await program.end(), exitCodes.refused);
    assert.match(program.stderr, /can be changed by other users/);
    assert.deepEqual(readdirSync(sandbox.runtimeDir), []);
  });
});
