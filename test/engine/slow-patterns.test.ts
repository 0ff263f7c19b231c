import assert from 'node:assert/strict';
import { CommandOutput } from '../../sidecar/output/command-output';
import { OutputWatch } from '../../sidecar/output/output-watch';
import { Pattern } from '../../sidecar/output/pattern';
import { fails, OpenedEngine, type OpenedSession } from '../helpers/engine';
import { temporaryLogs } from '../helpers/logs';

/** Tried one way after the other, each would take longer than the machine lasts. */
const endless = ['(?=a)(a+)+$', '(?!b)(a+)+$', '(a)\\1(a+)+$', '(a+){2,2000}$'];
const line = `${'a'.repeat(60)}!`;

describe('A pattern that takes for ever to match', function () {
  // Each is given a second.
  this.timeout(60_000);
  let opened: OpenedEngine;
  let session: OpenedSession;
  before(async () => {
    opened = await OpenedEngine.open();
    session = await opened.session('bash');
  });
  after(() => opened.dispose());

  for (const pattern of endless) {
    it(`is given up when lines are to match ${pattern}`, async () => {
      const { commandId } = await session.run(`echo '${line}'`);
      const { message } = await fails(() => opened.engine.output({ commandId, grep: pattern }), 'invalid_params');
      assert.match(message, /^grep takes too long to match, .* Write it without them\.$/);
      await session.expect('echo next', { stdout: 'next\n' });
    });
  }

  it('is given up when it is waited for, in what was printed before', async () => {
    const { commandId } = await session.run(`echo '${line}'`);
    const until = [{ output: '(?=a)(a+)+$' }];
    const { message } = await fails(() => opened.engine.wait({ commandId, until }), 'invalid_params');
    assert.match(message, /^output takes too long to match/);
  });

  it('is given up when it is waited for, in what comes, and the command goes on', async () => {
    const command = await session.start(`read go; echo '${line}'; read go; echo end`, { keepStdinOpen: true });
    const refused = fails(() => command.wait([{ output: '(?=a)(a+)+$' }]), 'invalid_params');
    await command.input('\n');
    await refused;
    await command.input('\n');
    const { stdout, exitCode } = await command.wait();
    assert.deepEqual([stdout, exitCode], [`${line}\nend\n`, 0]);
  });

  const logs = temporaryLogs();

  it('is given up once for all that comes together', () => {
    const output = new CommandOutput(logs.next(), 1000);
    const watch = new OutputWatch(output, new Pattern('(?=a)(a+)+$', 'output'));
    const reasons: unknown[] = [];
    watch.begin(assert.fail, (reason) => reasons.push(reason));
    for (let piece = 0; piece < 50; piece++) output.write('stdout', Buffer.from(line));
    assert.equal(reasons.length, 1);
  });

  it('is given up also when every single look is over in time', () => {
    const pattern = new Pattern('(?=a)(a+)+$', 'grep');
    // More than a look that does not count, and little enough to be over in time on a busy machine.
    const text = textThatTakes(75, pattern.expression);
    let looks = 0;
    assert.throws(() => {
      for (; looks < 500; looks++) pattern.look(() => pattern.expression.test(text));
    }, /grep takes too long/);
    assert.ok(looks > 0, `${looks} looks were over in time`);
  });

  it('is told from one that is looked for often', () => {
    const pattern = new Pattern('(?=b)b$', 'grep');
    for (let looks = 0; looks < 5000; looks++)
      assert.equal(
        pattern.look(() => pattern.expression.test('a')),
        false,
      );
  });
});

/** Which takes so many milliseconds or somewhat more, on whatever machine. */
function textThatTakes(atLeastMs: number, expression: RegExp): string {
  for (let length = 16; ; length++) {
    const text = `${'a'.repeat(length)}!`;
    const { user } = process.cpuUsage();
    expression.test(text);
    if (process.cpuUsage().user - user > atLeastMs * 1000) return text;
  }
}
