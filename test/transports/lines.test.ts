import assert from 'node:assert/strict';
import { LineClient } from '../helpers/line-client';
import { Sandbox } from '../helpers/sidecar';

describe('the line dialect', () => {
  let sandbox: Sandbox;
  let path: string;
  let client: LineClient;

  before(async () => {
    sandbox = new Sandbox();
    ({ path } = await sandbox.socketSidecar(['--max-message-bytes', '1000000', '--max-requests-per-connection', '20']));
  });
  after(() => sandbox.dispose());
  beforeEach(async () => {
    client = await LineClient.connect(path);
  });
  afterEach(() => client.dispose());

  async function assertRefused(id: string | number | null, code: string, message: RegExp): Promise<void> {
    const { ok, error } = await client.answer(id);
    assert.deepEqual({ ok, code: error?.code }, { ok: false, code });
    assert.match(error?.message ?? '', message);
  }

  async function assertStillAnswers(): Promise<void> {
    assert.equal((await client.request('system.ping')).ok, true);
  }

  it('answers a ping with version and pid', async () => {
    const { data, ...envelope } = await client.send({ id: '1', method: 'system.ping', params: {} }).answer('1');
    assert.deepEqual(envelope, { id: '1', ok: true });
    const { uptime_ms, pid, version, ...steady } = data;
    assert.deepEqual(steady, { pong: true, protocol_version: 1 });
    assert.ok(uptime_ms >= 0 && pid > 0 && typeof version === 'string');
  });

  it('repeats an id as it came, number or string', async () => {
    for (const id of [7, '7', 0, '', -1.5, 'ä']) {
      assert.deepEqual((await client.send({ id, method: 'system.ping' }).answer(id)).id, id);
    }
  });

  it('puts a line together from its pieces', async () => {
    const bytes = Buffer.from(`${JSON.stringify({ id: 'pieces ä€', method: 'system.ping' })}\n`);
    for (const byte of bytes) client.raw(Buffer.from([byte]));
    assert.equal((await client.answer('pieces ä€')).ok, true);
    assert.equal(client.lines.length, 1);
  });

  it('answers every line of one write', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => n);
    client.raw(ids.map((id) => `${JSON.stringify({ id, method: 'system.ping' })}\n`).join('\n\r\n'));
    for (const id of ids) assert.equal((await client.answer(id)).ok, true);
  });

  it('takes a last line without a newline when the client ends its side, and then closes', async () => {
    client.stream.end(JSON.stringify({ id: 'last', method: 'system.ping' }));
    assert.equal((await client.answer('last')).ok, true);
    assert.equal(await client.find(() => false), undefined);
  });

  it('refuses two objects on a line, text that is not JSON, and bytes that are not UTF-8', async () => {
    client.raw('{"id":"1","method":"system.ping"}{"id":"2","method":"system.ping"}\n');
    await assertRefused(null, 'parse_error', /one whole JSON object/);
    client.lines.length = 0;
    client.raw('hello\n');
    await assertRefused(null, 'parse_error', /no JSON/);
    client.lines.length = 0;
    client.raw(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
    await assertRefused(null, 'parse_error', /UTF-8/);
    await assertStillAnswers();
  });

  it('refuses what is no request', async () => {
    for (const message of [
      [],
      1,
      'x',
      null,
      true,
      {},
      { method: 'system.ping' },
      { id: null },
      { id: {} },
      { id: [1] },
    ]) {
      client.lines.length = 0;
      client.send(message);
      await assertRefused(null, 'invalid_request', /id|object/);
    }
    for (const method of [1, null, {}, [], undefined]) {
      client.lines.length = 0;
      client.send({ id: 'm', method });
      await assertRefused('m', 'invalid_request', /"method" must be a string/);
    }
    for (const params of [1, 'x', [], true]) {
      client.lines.length = 0;
      client.send({ id: 'p', method: 'system.ping', params });
      await assertRefused('p', 'invalid_params', /"params" must be an object/);
    }
    await assertStillAnswers();
  });

  it('refuses a method it does not have, also one that every object has', async () => {
    for (const method of ['system.nope', 'constructor', '__proto__', 'toString', '']) {
      client.lines.length = 0;
      client.send({ id: 'u', method });
      await assertRefused('u', 'unknown_method', /runtime\.describe/);
    }
  });

  it('names a wrong field in its own spelling and says what would be right', async () => {
    const wrong: [method: string, params: object, field: string, message: RegExp][] = [
      ['session.info', {}, 'session_id', /"session_id" is missing: it must be a string/],
      ['session.info', { session_id: 5 }, 'session_id', /"session_id" must be a string/],
      ['session.info', { sessionId: 's-1' }, 'sessionId', /write it as "session_id"/],
      [
        'exec.run',
        { session_id: 's', command: 'x', timeout_ms: 0 },
        'timeout_ms',
        /"timeout_ms" must be between 1 and/,
      ],
      [
        'exec.run',
        { session_id: 's', command: 'x', timeout_ms: 2 ** 31 },
        'timeout_ms',
        /"timeout_ms" must be between/,
      ],
      ['exec.run', { session_id: 's', command: 'x', timeout_ms: '5' }, 'timeout_ms', /"timeout_ms" must be a number/],
      [
        'exec.run',
        { session_id: 's', command: 'x', on_busy: 'wait' },
        'on_busy',
        /"on_busy" must be "queue" or "reject"/,
      ],
      ['exec.run', { session_id: 's', command: 'a\0b' }, 'command', /"command" must not contain a NUL/],
      [
        'exec.run',
        { session_id: 's', command: 'x', colour: 1 },
        'colour',
        /no field "colour"; it takes session_id, command/,
      ],
      [
        'exec.run',
        { session_id: 's', command: 'x', env: { 'a-b': '' } },
        'env.a-b',
        /"env\.a-b" is not a variable name/,
      ],
      ['exec.run', { session_id: 's', command: 'x', env: { aB: 1 } }, 'env.aB', /"env\.aB" must be a string/],
      [
        'exec.wait',
        { command_id: 'c', until: [{ port: 'x' }] },
        'until[0]',
        /exit, output, port, silence_ms, file, input/,
      ],
      ['exec.wait', { command_id: 'c', until: [] }, 'until', /"until" must be at least 1 entries long/],
      ['system.ping', { extra: 1 }, 'extra', /it takes none/],
    ];
    for (const [method, params, field, message] of wrong) {
      const { ok, error } = await client.request(method, params);
      assert.deepEqual(
        { ok, code: error?.code, data: error?.data },
        { ok: false, code: 'invalid_params', data: { field } },
      );
      assert.match(error?.message ?? '', message);
    }
  });

  it('refuses a message that is nested too deeply, or holds too many values, without parsing it', async () => {
    client.raw(`{"id":"1","method":"system.ping","params":{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}}\n`);
    await assertRefused(null, 'invalid_request', /deeper than 32/);
    client.lines.length = 0;
    client.send({ id: 'text', method: '[{'.repeat(100) });
    await assertRefused('text', 'unknown_method', /There is no method/);
  });

  it('skips a line beyond the limit, says so once, and reads the next', async () => {
    const part = Buffer.alloc(64 * 1024, 'x');
    for (let sent = 0; sent < 100; sent++) client.raw(part);
    client.raw('\n');
    await assertRefused(null, 'payload_too_large', /larger than 1000000 bytes/);
    await assertStillAnswers();
    assert.equal(client.lines.filter(({ id }) => id === null).length, 1);
  });

  it('refuses an id that is still in use, and more requests at once than a connection may have', async () => {
    client.send({ id: 'sub', method: 'events.subscribe' }).send({ id: 'sub', method: 'system.ping' });
    await assertRefused('sub', 'invalid_request', /still running/);
    for (let n = 0; n < 20; n++) client.send({ id: n, method: 'events.subscribe' });
    await assertRefused(19, 'overloaded', /20 requests running/);
  });

  it('ends a subscription with an answer when the client ends its side', async () => {
    client.send({ id: 'sub', method: 'events.subscribe' });
    await assertStillAnswers();
    client.stream.end();
    assert.deepEqual(await client.answer('sub'), { id: 'sub', ok: true, data: {} });
  });
});
