import { join } from 'node:path';

const directory = join(__dirname, '..', 'fixtures');

/** The command line that runs a fixture; its path needs no quoting beyond this. */
export function fixture(name: string, ...args: string[]): string {
  const runner = name.endsWith('.js') ? `'${process.execPath}'` : 'sh';
  return [runner, ...[join(directory, name), ...args].map((arg) => `'${arg.replaceAll("'", "'\\''")}'`)].join(' ');
}
