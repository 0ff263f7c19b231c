import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Rival } from './rival';

/** One shell, commands typed into its pipe, a marker printed after each: fast, and wrong as soon as output imitates it. */
export function naiveShell(): Rival {
  const shell = spawn('bash', ['--norc', '--noprofile'], { stdio: ['pipe', 'pipe', 'ignore'] });
  shell.stdout.setEncoding('latin1');
  let count = 0;
  return {
    name: 'pipe + marker',
    run(command) {
      const marker = `__done_${++count}__`;
      return new Promise((resolve) => {
        let seen = '';
        const onData = (text: string) => {
          seen += text;
          if (!seen.includes(`${marker}:`)) return;
          shell.stdout.off('data', onData);
          resolve();
        };
        shell.stdout.on('data', onData);
        shell.stdin.write(`${command}\nprintf '%s:%s\\n' ${marker} $?\n`);
      });
    },
    async dispose() {
      shell.stdin.end();
      await once(shell, 'close');
    },
  };
}
