import type { SidecarClient } from '../../client/client';
import type { OutputChunk, StreamName } from '../../protocol/values';
import type { Command, Values } from '../command';
import { isOn, only, text, UsageError } from '../command';
import { exitCodeOf } from '../exit-code';
import { pour, type Screen } from '../screen';
import { copyOutput } from '../streaming';
import { given, wholeNumber } from '../values';

export const logs: Command = {
  name: 'logs',
  summary: 'Show the output of a command',
  usage: `limpet logs [options] COMMAND_ID

  -f, --follow         go on until the command ends, and end with its exit code
      --tail N         only the last N lines
      --grep REGEX     only the lines that match
      --stdout         only standard output
      --stderr         only standard error
      --from SEQ       from this piece on
      --json           each piece as a line of JSON`,
  options: {
    follow: { type: 'boolean', short: 'f' },
    tail: { type: 'string' },
    grep: { type: 'string' },
    from: { type: 'string' },
    stdout: { type: 'boolean' },
    stderr: { type: 'boolean' },
  },

  async run(context, { values, positionals }) {
    const commandId = only(positionals, 'COMMAND_ID');
    const client = await context.connect();
    const { stream, streams } = chosenStreams(values);
    const query = given({
      tailLines: wholeNumber(text(values, 'tail'), '--tail'),
      grep: text(values, 'grep'),
      fromSeq: wholeNumber(text(values, 'from'), '--from'),
    });
    if (query.grep !== undefined && isOn(values, 'follow'))
      throw new UsageError('--grep and --follow exclude each other.');
    const next = await printAll(client, context.screen, { commandId, stream, ...query });
    if (!isOn(values, 'follow')) return 0;
    return exitCodeOf(await copyOutput(context, commandId, { fromSeq: next, streams, asJson: context.screen.json }));
  },
};

type Query = Parameters<typeof outputOf>[1];
const outputOf = (client: SidecarClient, query: import('../../protocol/methods').Params<'exec.output'>) =>
  client.request('exec.output', query);

/** Reads page by page until there is no more; answers with the cursor after the last piece. */
async function printAll(client: SidecarClient, screen: Screen, query: Query): Promise<number> {
  let next = query.fromSeq;
  for (;;) {
    const page = await outputOf(client, { ...query, ...given({ fromSeq: next }) });
    if (page.droppedBytes > 0) screen.note(`${page.droppedBytes} bytes are no longer kept`);
    for (const chunk of page.chunks) await print(screen, chunk);
    const isOnePage = query.tailLines !== undefined || page.chunks.length === 0 || page.nextSeq === next;
    next = page.nextSeq;
    if (isOnePage) return next;
  }
}

function print(screen: Screen, chunk: OutputChunk): void | Promise<void> {
  if (screen.json) {
    screen.line(JSON.stringify(chunk));
    return undefined;
  }
  return pour(chunk.stream === 'stdout' ? screen.out : screen.err, Buffer.from(chunk.data, chunk.encoding ?? 'utf8'));
}

function chosenStreams(values: Values): { stream: StreamName | 'both'; streams: StreamName[] } {
  const only = (['stdout', 'stderr'] as const).filter((name) => isOn(values, name));
  const [first] = only;
  if (first === undefined || only.length === 2) return { stream: 'both', streams: ['stdout', 'stderr'] };
  return { stream: first, streams: [first] };
}
