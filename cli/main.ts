import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { SidecarClient, SidecarUnavailable } from '../client/client';
import { refusal } from '../protocol/envelope';
import { LimpetError } from '../protocol/errors';
import { exitCodes } from '../protocol/exit-codes';
import { productVersion } from '../protocol/version';
import { type Command, type Context, type Invocation, UsageError } from './command';
import { commands } from './commands';
import { endOptionsAtFirstWord } from './first-word';
import { Screen } from './screen';

const overview = `Usage: limpet COMMAND [options]

Shells that hold on: sessions keep their state, output streams, exit codes are exact.

Commands:
${commands.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`).join('\n')}

"limpet COMMAND --help" says more. Every command takes --json.
`;

async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(overview);
    return name === undefined ? exitCodes.usage : 0;
  }
  if (name === '--version') {
    process.stdout.write(`${productVersion}\n`);
    return 0;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) throw new UsageError(`There is no command ${JSON.stringify(name)}.`);
  return execute(command, rest);
}

async function execute(command: Command, args: string[]): Promise<number> {
  const invocation = parse(command, args);
  if (invocation.values.help === true) {
    process.stdout.write(`Usage: ${command.usage}\n`);
    return 0;
  }
  const clients: SidecarClient[] = [];
  const sidecarPath = findSidecar(process.env);
  const context: Context = {
    screen: new Screen(process.stdout, process.stderr, invocation.values.json === true, process.env),
    env: process.env,
    cwd: process.cwd(),
    sidecarPath,
    connect: async (options) => {
      const client = await SidecarClient.connect({ clientName: 'limpet', sidecarPath, ...options });
      clients.push(client);
      return client;
    },
  };
  try {
    return await command.run(context, invocation);
  } finally {
    for (const client of clients) client.dispose();
  }
}

function parse(command: Command, args: string[]): Invocation {
  // serve passes everything on, its --help included.
  if (command.name === 'serve') return { values: {}, positionals: args };
  const options = { ...command.options, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  const ready = command.takesCommand === true ? endOptionsAtFirstWord(args, options) : args;
  try {
    return parseArgs({ args: ready, options, allowPositionals: true }) as Invocation;
  } catch (thrown) {
    const [first = ''] = thrown instanceof Error ? thrown.message.split('. ') : [];
    throw new UsageError(`${first.replace(/\.$/, '')}.`);
  }
}

/** The sidecar is built next to this program; from sources it is in dist/. */
function findSidecar(env: NodeJS.ProcessEnv): string {
  const places = [
    env.LIMPET_SIDECAR_PATH,
    path.join(__dirname, 'sidecar.js'),
    path.join(__dirname, '../dist/sidecar.js'),
  ];
  const found = places.find((place) => place !== undefined && place !== '' && fs.existsSync(place));
  if (found === undefined) throw new SidecarUnavailable('The sidecar program is missing. Reinstall Limpet.');
  return found;
}

/** The sidecar's messages speak of its methods; here they have other names. */
const inOurWords: [RegExp, string][] = [
  [/\bsession\.list\b/g, '"limpet session list"'],
  [/\bexec\.list\b/g, '"limpet ps --all"'],
  [/\bexec\.output\b/g, '"limpet logs"'],
  [/\bkeep_stdin_open\b/g, '--keep-stdin'],
];

function report(thrown: unknown, json: boolean): number {
  if (json && thrown instanceof LimpetError) process.stdout.write(`${JSON.stringify(refusal(null, thrown))}\n`);
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  const message = inOurWords.reduce((text, [method, ours]) => text.replace(method, ours), said);
  process.stderr.write(`limpet: ${message}${thrown instanceof UsageError ? ' See --help.' : ''}\n`);
  if (thrown instanceof UsageError) return exitCodes.usage;
  return thrown instanceof SidecarUnavailable ? 69 : 1;
}

// A reader that has gone is noticed where it matters; elsewhere it is no reason to fail.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

const args = process.argv.slice(2);
main(args)
  .catch((thrown: unknown) => report(thrown, args.includes('--json')))
  .then(
    (code) => {
      process.exitCode = code;
    },
    () => undefined,
  );
