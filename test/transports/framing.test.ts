import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import fc from 'fast-check';
import { ContentSplitter } from '../../sidecar/transports/content-splitter';
import { encodeLine } from '../../sidecar/transports/line-call';
import { LineSplitter } from '../../sidecar/transports/line-splitter';
import { parseMessage } from '../../sidecar/transports/message';
import { Outlet } from '../../sidecar/transports/outlet';

/** The same bytes, cut at random places. */
const cut = (bytes: Buffer, places: number[]): Buffer[] => {
  const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  );
  return at.slice(1).map((end, n) => bytes.subarray(at[n], end));
};

describe('framing', () => {
  it('finds the same lines however they are cut', () => {
    const line = fc.string({ minLength: 1 }).filter((text) => text.trim() !== '' && !text.includes('\n'));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, places) => {
        const found: string[] = [];
        const splitter = new LineSplitter(1_000_000, {
          line: (bytes) => found.push(bytes.toString()),
          tooLong: () => assert.fail(),
        });
        for (const part of cut(Buffer.from(lines.join('\n')), places)) splitter.push(part);
        splitter.end();
        assert.deepEqual(found, lines);
      }),
    );
  });

  it('skips exactly the lines that are too long', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 })), fc.array(fc.nat()), (lengths, places) => {
        const found: number[] = [];
        const splitter = new LineSplitter(20, {
          line: (bytes) => found.push(bytes.length),
          tooLong: () => found.push(-1),
        });
        for (const part of cut(Buffer.from(lengths.map((length) => `${'x'.repeat(length)}\n`).join('')), places))
          splitter.push(part);
        assert.deepEqual(
          found,
          lengths.map((length) => (length > 20 ? -1 : length)),
        );
      }),
    );
  });

  it('finds the same contents however they are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.nat()), (contents, places) => {
        const bytes = Buffer.from(
          contents.map((text) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`).join(''),
        );
        const splitter = new ContentSplitter(1_000_000);
        const found: string[] = [];
        for (const part of cut(bytes, places))
          assert.equal(
            splitter.push(part, (content) => found.push(content.toString())),
            undefined,
          );
        assert.deepEqual(found, contents);
      }),
    );
  });

  it('parses what JSON parses, within the depth it may have', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'small' }), (value) => {
        const parsed = parseMessage(Buffer.from(JSON.stringify(value)), { maxMessageDepth: 1000 });
        assert.deepEqual(parsed, { value: JSON.parse(JSON.stringify(value)) });
      }),
    );
    const nested = (depth: number) =>
      parseMessage(Buffer.from(`${'[{"a":'.repeat(depth / 2)}"[{\\"["${'}]'.repeat(depth / 2)}`), {
        maxMessageDepth: 32,
      });
    assert.ok('value' in nested(32));
    assert.ok('error' in nested(34));
  });
});

describe('an answer that no string can hold', () => {
  it('becomes an error that says what to do', () => {
    const endless = {
      toJSON: () => {
        throw new RangeError('Invalid string length');
      },
    };
    const { id, ok, error } = JSON.parse(encodeLine({ id: 'big', ok: true, data: endless }));
    assert.deepEqual([id, ok, error.code], ['big', false, 'payload_too_large']);
    assert.match(error.message, /max_output_bytes/);
  });
});

describe('the way out to a client', () => {
  const limits = { maxQueuedBytes: 1000, stallBytes: 100, stallMs: 20 };
  /** Takes nothing until it is told to. */
  const blocked = () => {
    let release: (() => void) | undefined;
    const stream = new Writable({
      highWaterMark: 50,
      write: (_chunk, _encoding, done) => {
        release = done;
      },
    });
    return { stream, release: () => release?.() };
  };

  it('asks streams to pause while it is full, and lets them go on when it drains or closes', async () => {
    const { stream, release } = blocked();
    const outlet = new Outlet(stream, new PassThrough(), () => assert.fail(), limits);
    outlet.write('short');
    assert.equal(outlet.ready(), undefined);
    outlet.write('x'.repeat(60));
    const pause = outlet.ready();
    assert.ok(pause instanceof Promise);
    release();
    release();
    await pause;
    outlet.write('x'.repeat(60));
    const again = outlet.ready();
    stream.destroy();
    await again;
    assert.equal(outlet.ready(), undefined);
  });

  it('gives up a reader that leaves too much waiting', () => {
    const { stream } = blocked();
    const reasons: string[] = [];
    const outlet = new Outlet(stream, new PassThrough(), (reason) => reasons.push(reason), limits);
    for (let n = 0; n < 30; n++) outlet.write('x'.repeat(100));
    assert.deepEqual(reasons, ['it leaves its answers unread']);
    assert.ok(stream.writableLength <= 1200);
    outlet.dispose();
  });

  it('gives up a reader that has stopped, and holds back its requests until then', async () => {
    const { stream } = blocked();
    const input = new PassThrough();
    input.resume();
    const reason = await new Promise((resolve) => {
      new Outlet(stream, input, resolve, limits).write('x'.repeat(200));
      assert.ok(input.isPaused());
    });
    assert.equal(reason, 'it has stopped reading');
  });
});
