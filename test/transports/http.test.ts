import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findRuntimes } from '../../client/client';
import { Sandbox, until } from '../helpers/sidecar';

interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

describe('http', () => {
  const token = 'a-token-for-tests';
  let sandbox: Sandbox;
  let port: number;

  before(async () => {
    sandbox = new Sandbox();
    const args = ['--http', '127.0.0.1:0', '--max-message-bytes', '100000'];
    sandbox.sidecar(args, { LIMPET_TOKEN: token });
    port = await listeningPort(sandbox);
  });
  after(() => sandbox.dispose());

  const ping = JSON.stringify({ id: '1', method: 'system.ping', params: {} });
  const good = { 'content-type': 'application/json', authorization: `Bearer ${token}` };

  function send(options: http.RequestOptions, body: string | Buffer = ping): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers: good, ...options });
      request.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  function assertRefused({ status, body }: Reply, expected: number, code: string): void {
    const { id, ok, error } = JSON.parse(body);
    assert.deepEqual({ status, id, ok, code: error.code }, { status: expected, id: null, ok: false, code });
  }

  it('answers with the envelope', async () => {
    const { status, headers, body } = await send({});
    const { id, ok, data } = JSON.parse(body);
    assert.deepEqual({ status, id, ok, pong: data.pong }, { status: 200, id: '1', ok: true, pong: true });
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['access-control-allow-origin'], undefined);
  });

  it('refuses no, a wrong, an empty and a doubled token on every route', async () => {
    for (const path of ['/', '/else']) {
      for (const method of ['POST', 'GET', 'OPTIONS', 'DELETE']) {
        for (const authorization of [
          undefined,
          'Bearer wrong',
          'Bearer ',
          'Bearer',
          '',
          token,
          `Bearer ${token} ${token}`,
          `Basic ${token}`,
        ]) {
          const headers = {
            'content-type': 'application/json',
            ...(authorization === undefined ? {} : { authorization }),
          };
          assertRefused(await send({ path, method, headers }), 401, 'unauthorized');
        }
      }
    }
    assertRefused(
      await rawReply(`authorization: Bearer ${token}\r\nauthorization: Bearer ${token}\r\n`),
      401,
      'unauthorized',
    );
  });

  /** Headers that a proper client would never send. */
  function rawReply(headers: string, host = `host: 127.0.0.1:${port}\r\n`): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1');
      let text = '';
      socket.on('data', (data) => {
        text += data;
      });
      socket.on('error', reject);
      socket.on('close', () => {
        const [head = '', body = ''] = text.split('\r\n\r\n');
        resolve({
          status: Number(head.split(' ')[1]),
          headers: {},
          body: body.includes('{') ? body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1) : body,
        });
      });
      socket.write(
        `POST / HTTP/1.1\r\n${host}content-type: application/json\r\nconnection: close\r\ncontent-length: ${ping.length}\r\n${headers}\r\n${ping}`,
      );
    });
  }

  it('answers only to its own name', async () => {
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
      assert.equal((await send({ headers: { ...good, host } })).status, 200, host);
    }
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      `127.0.0.1:${port}.evil.example`,
    ]) {
      assertRefused(await send({ headers: { ...good, host } }), 403, 'unauthorized');
    }
    const auth = `authorization: Bearer ${token}\r\n`;
    assertRefused(await rawReply(auth, ''), 403, 'unauthorized');
    assertRefused(await rawReply(auth, 'host: \r\n'), 403, 'unauthorized');
    assertRefused(await rawReply(auth, `host: 127.0.0.1:${port}\r\nhost: evil.example\r\n`), 403, 'unauthorized');
  });

  it('refuses whatever comes from a web page', async () => {
    for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${port}`]) {
      assertRefused(await send({ headers: { ...good, origin } }), 403, 'unauthorized');
    }
  });

  it('takes JSON by POST on one path, and nothing else', async () => {
    assertRefused(await send({ path: '/else' }), 404, 'invalid_request');
    assertRefused(await send({ path: '/?x=1' }), 404, 'invalid_request');
    const wrongMethod = await send({ method: 'PUT' });
    assertRefused(wrongMethod, 405, 'invalid_request');
    assert.equal(wrongMethod.headers.allow, 'POST');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
      assertRefused(await send({ headers: { ...good, 'content-type': type } }), 415, 'invalid_request');
    }
    assert.equal((await send({ headers: { ...good, 'content-type': 'application/json; charset=utf-8' } })).status, 200);
  });

  it('refuses a body beyond the limit, announced or not, before it has arrived', async () => {
    const large = Buffer.alloc(200_000, 'x');
    assertRefused(
      await send({ headers: { ...good, 'content-length': large.length } }, large),
      413,
      'payload_too_large',
    );
    assertRefused(
      await send({ headers: { ...good, 'transfer-encoding': 'chunked' } }, large),
      413,
      'payload_too_large',
    );
    const asking = { ...good, expect: '100-continue', 'content-length': 9_999_999 };
    assertRefused(await send({ headers: asking }, ''), 413, 'payload_too_large');
  });

  it('gives errors a status', async () => {
    assertRefused(await send({}, 'nonsense'), 400, 'parse_error');
    assertRefused(await send({}, '[]'), 400, 'invalid_request');
    assert.equal((await send({}, JSON.stringify({ id: 1, method: 'no.such' }))).status, 404);
    assert.equal((await send({}, JSON.stringify({ id: 1, method: 'session.info', params: {} }))).status, 400);
  });

  it('works with curl as the documents show it', async () => {
    const { stdout } = await promisify(execFile)('curl', [
      '-sS',
      '-X',
      'POST',
      `http://127.0.0.1:${port}/`,
      '-H',
      `Authorization: Bearer ${token}`,
      '-H',
      'Content-Type: application/json',
      '-d',
      ping,
    ]);
    assert.equal(JSON.parse(stdout).ok, true);
  });

  it('answers what is not HTTP, and closes', async () => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.write('this is not http\r\n\r\n');
    await until(() => socket.closed, 'the connection is closed');
    assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(text, /"code":"invalid_request"/);
  });

  it('does not wait for headers that never end', async () => {
    const other = new Sandbox();
    try {
      other.sidecar(['--http', '127.0.0.1:0', '--handshake', '300']);
      const socket = net.connect(await listeningPort(other), '127.0.0.1');
      let text = '';
      socket.on('data', (data) => {
        text += data;
      });
      socket.write('POST / HTTP/1.1\r\n');
      const drip = setInterval(() => socket.write('x-more: 1\r\n'), 50);
      socket.on('error', () => undefined);
      await until(() => socket.closed, 'the connection is closed');
      clearInterval(drip);
      assert.match(text, /^HTTP\/1\.1 408 /);
    } finally {
      await other.dispose();
    }
  });

  it('writes a token of its own to a file for its owner alone, and never to log, descriptor or arguments', async () => {
    const other = new Sandbox();
    try {
      const program = other.sidecar(['--http', '127.0.0.1:0']);
      const otherPort = await listeningPort(other);
      const file = join(other.runtimeDir, `http-${otherPort}.token`);
      const made = readFileSync(file, 'utf8');
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.ok(made.length >= 32);
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${made}` };
      assert.equal((await send({ port: otherPort, headers })).status, 200);
      assert.equal((await send({ port: otherPort })).status, 401);
      assert.match(program.stderr, new RegExp(file));
      await program.kill('SIGTERM');
      assert.match(other.log, new RegExp(file));
      assert.ok(![program.stderr, program.stdout, other.log].some((text) => text.includes(made)));
      assert.deepEqual(
        readdirSync(other.runtimeDir).filter((name) => name.endsWith('.token')),
        [],
      );
    } finally {
      await other.dispose();
    }
  });

  it('treats an empty token as none', async () => {
    const other = new Sandbox();
    try {
      other.sidecar(['--http', '127.0.0.1:0'], { LIMPET_TOKEN: '' });
      const otherPort = await listeningPort(other);
      const headers = { 'content-type': 'application/json', authorization: 'Bearer ' };
      assert.equal((await send({ port: otherPort, headers })).status, 401);
    } finally {
      await other.dispose();
    }
  });

  it('refuses an address that other machines reach, unless told', async () => {
    const refused = sandbox.sidecar(['--http', '0.0.0.0:0']);
    assert.equal(await refused.end(), 64);
    assert.match(refused.stderr, /--http-allow-remote/);
    const inUse = sandbox.sidecar(['--http', `127.0.0.1:${port}`]);
    assert.equal(await inUse.end(), 77);
    assert.match(inUse.stderr, /port is in use/);
  });
});

function listeningPort(sandbox: Sandbox): Promise<number> {
  return until(() => {
    const [transport] = findRuntimes(sandbox.runtimeDir).flatMap(({ transports }) =>
      transports.filter(({ kind }) => kind === 'http'),
    );
    return transport?.kind === 'http' ? Number(new URL(transport.url).port) : undefined;
  }, 'http is listening');
}
