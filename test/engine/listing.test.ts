import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mock } from 'node:test';
import { forEachShell } from '../helpers/engine';

forEachShell('A list of commands', (suite) => {
  it('takes one look at the processes, however many run', async () => {
    const { session, opened } = suite;
    const started = [];
    for (let n = 0; n < 5; n++) started.push(await session.start('echo up; sleep 300', { background: true }));
    for (const command of started) await command.wait([{ output: 'up' }]);
    const reading = mock.method(fs, 'readdirSync');
    try {
      const { commands } = opened.engine.listCommands({ sessionId: session.id });
      const areKnown = commands.map(({ activity }) => activity !== undefined);
      const looks = reading.mock.calls.filter(({ arguments: [path] }) => path === '/proc').length;
      assert.deepEqual([areKnown, looks], [started.map(() => true), 1]);
    } finally {
      reading.mock.restore();
    }
  });
});
