import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { methods } from '../../protocol/methods';
import { LineClient } from '../helpers/line-client';
import { httpPort } from '../helpers/peers';
import { type RunningProgram, rssOf, Sandbox, until } from '../helpers/sidecar';

/** Every command in here would leave a file behind: none may ever run. */
const trap = 'touch executed';

/** Left out: a valid one of these would end what the others are sent to. */
const mayEnd = new Set(['system.shutdown', 'session.destroy', 'session.rename', 'exec.cancel']);

describe('a sidecar that is sent nonsense', () => {
  let sandbox: Sandbox;
  let program: RunningProgram;
  let path: string;
  let session_id: string;
  let witness: LineClient;

  before(async () => {
    sandbox = new Sandbox();
    ({ program, path } = await sandbox.socketSidecar(['--http', '127.0.0.1:0', '--max-message-bytes', '100000'], {
      LIMPET_TOKEN: 'fuzz',
    }));
    witness = await LineClient.connect(path);
    ({ session_id } = await witness.data('session.create', { cwd: sandbox.work }));
  });
  after(async () => {
    witness.dispose();
    await sandbox.dispose();
  });
  afterEach(async () => {
    assert.equal((await witness.request('system.ping')).ok, true);
    assert.equal((await witness.data('exec.run', { session_id, command: 'pwd' })).stdout, `${sandbox.work}\n`);
    assert.ok(!existsSync(join(sandbox.work, 'executed')), 'nothing was executed');
    assert.ok(!program.ended);
  });

  /** Sends the bytes, ends its side, and resolves once the sidecar has closed the connection. */
  const send = (to: net.NetConnectOpts, bytes: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      const socket = net.connect(to);
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
      socket.resume();
      socket.end(bytes);
    });

  const wrongValue = fc.oneof(
    fc.constantFrom(null, true, -1, 1e308, '', [], {}, [[]], 'x'.repeat(5000), '\u0000', Number.MIN_VALUE),
    fc.jsonValue(),
  );

  /** Valid requests but for one field of the wrong kind, or one byte changed, or cut short. */
  const mutated = fc
    .record({
      method: fc.constantFrom(...Object.keys(methods)),
      field: fc.constantFrom(
        'session_id',
        'command_id',
        'timeout_ms',
        'env',
        'stdin',
        'until',
        'cwd',
        'background',
        '__proto__',
        'constructor',
      ),
      value: wrongValue,
      isLive: fc.boolean(),
      cut: fc.option(fc.nat()),
      flip: fc.option(fc.tuple(fc.nat(), fc.nat(255))),
    })
    .map(({ method, field, value, isLive, cut, flip }) => {
      // Wrong in three places, so that no change of a field and a byte can mend it and spring the trap.
      const wrong = { timeout_ms: -1, env: [], no_such_field: 1 };
      const safe = { command: trap, session_id: isLive ? session_id : 's-none', ...wrong, [field]: value };
      const bytes = Buffer.from(
        `${JSON.stringify({ id: 'm', method: mayEnd.has(method) ? 'system.ping' : method, params: safe })}\n`,
      );
      if (flip !== null) bytes[flip[0] % bytes.length] = flip[1];
      return cut === null ? bytes : bytes.subarray(0, cut % bytes.length);
    });

  it('answers or closes whatever random bytes come over socket, pipe and HTTP', async () => {
    const port = await httpPort(sandbox);
    const places: net.NetConnectOpts[] = [{ path }, { path: sandbox.pipe }, { port, host: '127.0.0.1' }];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), fc.uint8Array({ maxLength: 3000 }), (place, bytes) =>
        send(place, bytes),
      ),
      { numRuns: 150 },
    );
  });

  it('answers or closes whatever mutated requests come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mutated, { maxLength: 20 }), (lines) => send({ path }, Buffer.concat(lines))),
      { numRuns: 60 },
    );
  });

  it('answers or closes whatever mutated frames come over the pipe', async () => {
    const framed = fc.tuple(
      mutated,
      fc.oneof(fc.constant(0), fc.integer({ min: -3, max: 3 }), fc.constant(1e15), fc.constant(-1e9)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(framed, { maxLength: 10 }), (frames) =>
        send(
          { path: sandbox.pipe },
          Buffer.concat(
            frames.map(([body, off]) =>
              Buffer.concat([Buffer.from(`Content-Length: ${body.length + off}\r\n\r\n`), body]),
            ),
          ),
        ),
      ),
      { numRuns: 60 },
    );
  });

  it('survives 10 000 malformed messages without executing any, and gives the memory back', async () => {
    const malformed = [
      `{"id":"1","method":"exec.run","params":{"command":"${trap}"}}`,
      `{"id":"1","method":"exec.run","params":{"session_id":"${'s'.repeat(3000)}","command":"${trap}"}}`,
      `{"id":{},"method":"exec.run","params":{"session_id":"SESSION","command":"${trap}"}}`,
      `{"id":"1","method":"exec.run","params":{"session_id":"SESSION","command":["${trap}"]}}`,
      `{"id":"1","method":"exec.run","params":{"session_id":"SESSION","command":"${trap}","timeout_ms":-1}}`,
      `{"id":"1","method":"exec.run","params":{"session_id":"SESSION","command":"${trap}"}`,
      `"id":"1","method":"exec.run","params":{"session_id":"SESSION","command":"${trap}"}}`,
      `{"id":"1","method":"exec.run","params":{"session_id":"SESSION","command":"${trap}"}}{"id":"2"}`,
      '['.repeat(5000),
      '\u0000\u0001\u0002',
    ].map((line) => `${line.replaceAll('SESSION', session_id)}\n`);
    const flood = async () => {
      const client = await LineClient.connect(path);
      for (let sent = 0; sent < 5000; sent += malformed.length) client.raw(malformed.join(''));
      await until(() => client.lines.length >= 5000, 'all are answered', 30_000);
      assert.ok(client.lines.every(({ ok, error }) => ok === false && error?.code !== 'internal'));
      client.dispose();
    };
    await flood();
    const before = rssOf(program.pid);
    await flood();
    await flood();
    await until(() => rssOf(program.pid) < before + 30e6, 'the memory is given back', 20_000);
  });
});
