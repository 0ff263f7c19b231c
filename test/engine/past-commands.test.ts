import assert from 'node:assert/strict';
import { Command } from '../../sidecar/engine/command';
import { PastCommands } from '../../sidecar/engine/past-commands';
import { CommandLog } from '../../sidecar/output/command-log';
import { CommandOutput } from '../../sidecar/output/command-output';

describe('What is remembered of commands that are over', () => {
  const budget = { perCommand: 0, take: () => true, giveBack: () => {}, keep: () => false, settled: () => {} };
  const request = {
    text: 'echo',
    background: false,
    origin: 'test',
    stdin: { kind: 'none' as const },
    overrides: undefined,
    timeoutMs: undefined,
    maxOutputBytes: 1000,
  };
  let commands: Command[];
  let past: PastCommands;
  beforeEach(() => {
    commands = [];
    past = new PastCommands(() => commands, 1000);
  });

  /** A command that printed so many pieces of two bytes. */
  const printed = (pieces: number) => {
    const number = commands.length + 1;
    const output = new CommandOutput(new CommandLog(`/nowhere/${number}`, '.log', budget), 1000);
    for (let n = 1; n <= pieces; n++) output.index.add('stdout', 2, n * 6, 0);
    const command = new Command('s-1', number, { ...request }, output);
    commands.push(command);
    return command;
  };
  const over = (pieces: number) => {
    const command = printed(pieces);
    command.output.end();
    past.add(command);
  };
  const kept = () => commands.map(({ output: { index } }) => index.next - index.first);

  it('are all pieces, as long as there are not too many together', () => {
    for (let n = 0; n < 4; n++) over(65_536);
    assert.deepEqual(kept(), [65_536, 65_536, 65_536, 65_536]);
  });

  it('are the newest pieces of the oldest ones when there are too many, and every byte is counted', () => {
    for (let n = 0; n < 5; n++) over(60_000);
    over(10);
    assert.deepEqual(kept(), [1024, 60_000, 60_000, 60_000, 60_000, 10]);
    const index = commands[0]?.output.index;
    const gone = 60_000 - 1024;
    assert.deepEqual([index?.first, index?.dropped.stdout, index?.logStart], [gone + 1, gone * 2, gone * 6]);
    assert.deepEqual(index?.place(gone), undefined);
    const place = { seq: gone + 1, stream: 'stdout', from: gone * 6, to: gone * 6 + 6, size: 2, time: 0 };
    assert.deepEqual(index?.place(gone + 1), place);
  });

  it('are all pieces of one that is not over', () => {
    printed(60_000);
    for (let n = 0; n < 5; n++) over(60_000);
    assert.deepEqual(kept(), [60_000, 1024, 60_000, 60_000, 60_000, 60_000]);
  });

  it('makes no room for what is forgotten', () => {
    for (let n = 0; n < 4; n++) over(65_536);
    const [first] = commands.splice(0, 1);
    if (first !== undefined) past.remove(first);
    over(65_536);
    assert.deepEqual(kept(), [65_536, 65_536, 65_536, 65_536]);
  });
});
