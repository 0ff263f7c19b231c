import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { openFiles } from '../../sidecar/processes/process-table';
import { fails, OpenedEngine, type OpenedSession, shells, until } from '../helpers/engine';
import { isAlive, openDescriptors, processesHolding } from '../helpers/processes';

for (const shell of shells) {
  describe(`What commands print to, in ${shell}`, () => {
    let opened: OpenedEngine;
    let session: OpenedSession;
    const open = async (maxOpenOutputs = 256) => {
      opened = await OpenedEngine.open({ limits: { maxOpenOutputs } });
      session = await opened.session(shell);
    };
    afterEach(() => opened.dispose());

    const directory = () => join(opened.runtimeDir, 'sessions', session.id);
    const keepers = () =>
      processesHolding(directory()).filter((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('2147483647'),
      );
    /** What is there to be kept, and what is kept. */
    const fifos = () => readdirSync(directory()).filter((name) => /^(in|ctl|[oe]\d+)$/.test(name));
    const kept = () => new Set(keepers().flatMap((pid) => openFiles(pid).map((path) => basename(path))));
    const isAllKept = () => fifos().every((name) => kept().has(name));
    const slots = () => fifos().filter((name) => /^o\d/.test(name)).length;
    const leaveBehind = async (count: number) => {
      const jobs: number[] = [];
      while (jobs.length < count) jobs.push(Number(await session.text('sleep 300 & echo $!')));
      return jobs;
    };

    it('is limited, and reaching the limit is an answer', async () => {
      await open(5);
      const [job = 0] = await leaveBehind(5);
      const { message } = await fails(() => session.run('echo never'), 'overloaded');
      assert.match(message, /5 commands of session/);
      process.kill(job, 'SIGKILL');
      const says = async () => (await session.run('echo room').catch(() => undefined))?.stdout;
      await until('there is room', async () => (await says()) === 'room\n');
    });

    it('is removed when far fewer are needed again, and then made anew for those who need it', async () => {
      await open();
      const jobs = await leaveBehind(30);
      assert.equal(slots(), 30);
      const descriptors = openDescriptors().length;
      for (const job of jobs) process.kill(job, 'SIGKILL');
      await until('most are removed', () => slots() === 8 && keepers().length === 6);
      const freed = descriptors - openDescriptors().length;
      assert.ok(freed >= 40, `${freed} descriptors are free again`);
      const again = await leaveBehind(10);
      await session.expect('echo next', { stdout: 'next\n' });
      for (const job of again) process.kill(job, 'SIGKILL');
    });

    it('is kept again when somebody has ended what kept it, and so is the input of a command', async () => {
      await open();
      const jobs = await leaveBehind(4);
      const command = await session.start('echo ready; cat', { keepStdinOpen: true, background: true });
      await command.wait([{ output: 'ready' }]);
      const before = keepers();
      assert.ok(before.length >= 3);
      for (const pid of before) process.kill(pid, 'SIGKILL');
      await until('they are gone', () => !before.some(isAlive));
      await until('all is kept', () => isAllKept() && [...kept()].some((name) => /^i\d/.test(name)));
      await until('that is noted', () => {
        const journal = readFileSync(join(directory(), 'journal'), 'utf8');
        return keepers().every((pid) => journal.includes(`"pid":${pid},`));
      });
      await command.input('on');
      await command.end();
      assert.equal((await command.wait()).stdout, 'ready\non');
      for (const job of jobs) process.kill(job, 'SIGKILL');
    });
  });
}
