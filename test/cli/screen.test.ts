import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { pour } from '../../cli/screen';

describe('what is poured into a slow stream', () => {
  it('waits for room, and leaves nobody listening', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const before = [stream.listenerCount('drain'), stream.listenerCount('close')];
    for (let time = 0; time < 20; time++) {
      const room = pour(stream, Buffer.from('some'));
      assert.ok(room instanceof Promise);
      stream.resume();
      await room;
    }
    assert.deepEqual([stream.listenerCount('drain'), stream.listenerCount('close')], before);
  });

  it('does not wait for one that closes', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const room = pour(stream, Buffer.from('some'));
    stream.destroy();
    await room;
    assert.equal(pour(stream, Buffer.from('more')), undefined);
  });
});
