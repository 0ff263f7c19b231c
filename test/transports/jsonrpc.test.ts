import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { Sandbox, until } from '../helpers/sidecar';

interface Message {
  id?: string | number | null;
  result?: { pong?: boolean };
  error?: { code: number; message: string; data: { code: string } };
}

describe('vscode-jsonrpc on the pipe', () => {
  let sandbox: Sandbox;
  let socket: net.Socket;
  let received: string;

  before(async () => {
    sandbox = new Sandbox();
    sandbox.sidecar(['--max-message-bytes', '100000', '--max-requests-per-connection', '5']);
    await until(() => sandbox.connect('test', false).catch(() => undefined), 'it answers');
  });
  after(() => sandbox.dispose());
  beforeEach(async () => {
    received = '';
    socket = net.connect(sandbox.pipe);
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
  });
  afterEach(() => {
    socket.destroy();
  });

  const messages = (): Message[] => {
    const found: Message[] = [];
    for (let at = 0; at < received.length; ) {
      const [head, length] = /^Content-Length: (\d+)\r\n\r\n/.exec(received.slice(at)) ?? [];
      if (head === undefined || received.length < at + head.length + Number(length)) break;
      found.push(JSON.parse(received.slice(at + head.length, at + head.length + Number(length))));
      at += head.length + Number(length);
    }
    return found;
  };
  const send = (content: string | object) => {
    const text = typeof content === 'string' ? content : JSON.stringify({ jsonrpc: '2.0', ...content });
    socket.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const answer = (id: string | number | null) =>
    until(() => messages().find((message) => message.id === id), `${id} is answered`);
  const errorOf = async (id: string | number | null) => (await answer(id)).error?.data.code;

  it('answers messages that come in pieces, and several in one', async () => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'system.ping', params: {} });
    const bytes = Buffer.from(
      `content-length: ${text.length}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n${text}`,
    );
    for (const byte of bytes) socket.write(Buffer.from([byte]));
    assert.equal((await answer(1)).result?.pong, true);
    const two = text.replace('1,', '2,');
    const three = text.replace('1,', '3,');
    socket.write(`Content-Length: ${two.length}\r\n\r\n${two}Content-Length: ${three.length}\r\n\r\n${three}`);
    assert.equal((await answer(2)).result?.pong, true);
    assert.equal((await answer(3)).result?.pong, true);
  });

  it('carries our error codes in the data of an error', async () => {
    send({ id: 'a', method: 'no.such', params: {} });
    send({ id: 'b', method: 'session.info', params: {} });
    send({ id: 'c', method: 'session.info', params: { session_id: 'x' } });
    send({ id: 'd', method: 'system.ping', params: [1] });
    assert.deepEqual(
      [await errorOf('a'), await errorOf('b'), await errorOf('c'), await errorOf('d')],
      ['unknown_method', 'invalid_params', 'invalid_params', 'invalid_params'],
    );
    assert.deepEqual((await answer('a')).error?.code, -32601);
    assert.match((await answer('c')).error?.message ?? '', /"sessionId" is missing/);
  });

  it('refuses what is no request and stays', async () => {
    send('nonsense');
    assert.equal(await errorOf(null), 'parse_error');
    received = '';
    send({ id: null, method: 'system.ping' });
    assert.equal(await errorOf(null), 'invalid_request');
    received = '';
    send('['.repeat(1000) + ']'.repeat(1000));
    assert.equal(await errorOf(null), 'invalid_request');
    for (let n = 0; n < 1000; n++) send({ method: 'some/notification', params: { n } });
    send({ id: 'after', method: 'system.ping', params: {} });
    assert.equal((await answer('after')).result?.pong, true);
  });

  it('refuses an id in use and too many requests at once', async () => {
    for (let id = 0; id < 6; id++) send({ id, method: 'events.subscribe', params: { streamToken: id } });
    assert.equal(await errorOf(5), 'overloaded');
    send({ id: 0, method: 'system.ping', params: {} });
    assert.equal(await errorOf(0), 'invalid_request');
    send({ method: '$/cancelRequest', params: { id: 1 } });
    assert.deepEqual((await answer(1)).result, {});
  });

  it('closes when it cannot tell messages apart any more', async () => {
    for (const bytes of [
      'Content-Length: 99999999\r\n\r\n',
      'Content-Length: -1\r\n\r\n',
      'Length: 1\r\n\r\n',
      'x'.repeat(5000),
    ]) {
      const other = net.connect(sandbox.pipe).on('error', () => undefined);
      await once(other, 'connect');
      other.resume().write(bytes);
      await until(() => other.closed, 'it is closed');
    }
    send({ id: 'still', method: 'system.ping', params: {} });
    assert.equal((await answer('still')).result?.pong, true);
  });
});
