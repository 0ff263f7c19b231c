import type { SidecarClient } from '../../client/client';
import { LimpetError } from '../../protocol/errors';
import type { Params, Result } from '../../protocol/methods';
import type { OutputChunk } from '../../protocol/values';
import type { Departures, Hub } from './hub';
import type { Streams, Tally } from './tally';

type Ended = Result<'exec.wait'>;
type Extras = Omit<Params<'exec.run'>, 'sessionId' | 'command'> & { background?: boolean; keepStdinOpen?: boolean };

export interface Performed {
  commandId: string;
  ended: Ended;
  departed: Departures;
}

export type Manner = 'run' | 'stream' | 'start';

let marks = 0;

/** A session as the soak uses it: through whatever sidecar there is, and never asking for the same thing twice. */
export class Subject {
  sessionId = '';

  constructor(
    readonly hub: Hub,
    readonly tally: Tally,
    readonly shell: string,
    readonly cwd: string,
  ) {}

  /** Its name finds it again if the sidecar went away before it could answer. */
  async create(): Promise<void> {
    const name = `soak-${process.pid}-${++marks}`;
    for (;;) {
      const client = await this.hub.connected();
      try {
        const { sessions } = await client.request('session.list', {});
        const made = sessions.find((session) => session.name === name);
        const { sessionId } =
          made ?? (await client.request('session.create', { shell: this.shell, cwd: this.cwd, name }));
        this.sessionId = sessionId;
        return;
      } catch (thrown) {
        if (!(await this.hub.hasLeft(client, thrown))) throw thrown;
      }
    }
  }

  async destroy(): Promise<void> {
    const { sessionId } = this;
    this.sessionId = '';
    await this.hub.ask('session.destroy', { sessionId }).catch((thrown: unknown) => {
      // It may have been gone before the sidecar could say so.
      if (!(thrown instanceof LimpetError && thrown.code === 'session_not_found')) throw thrown;
    });
  }

  /** Starts a command and answers with its id, however often the sidecar goes away meanwhile. */
  async start(command: string, extras: Extras = {}): Promise<string> {
    const { text, mark } = marked(command);
    for (let attempt = 0; ; attempt++) {
      const client = await this.hub.connected();
      try {
        const known = attempt > 0 ? await this.find(client, mark) : undefined;
        if (known !== undefined) return known;
        const { stdin: _, ...rest } = extras;
        const { commandId } = await client.request('exec.start', { sessionId: this.sessionId, command: text, ...rest });
        return commandId;
      } catch (thrown) {
        if (!(await this.hub.hasLeft(client, thrown))) throw thrown;
      }
    }
  }

  /** Waits for the end of a command. */
  end(commandId: string): Promise<Ended> {
    return this.hub.ask('exec.wait', { commandId });
  }

  /** Runs a command to its end. */
  async perform(command: string, extras: Extras = {}, manner: Manner = 'run'): Promise<Performed> {
    const since = { ...this.hub.departures };
    const { text, mark } = marked(command);
    const params = { sessionId: this.sessionId, command: text, ...extras };
    this.tally.commands++;
    for (let attempt = 0; ; attempt++) {
      const client = await this.hub.connected();
      try {
        const known = attempt > 0 ? await this.find(client, mark) : undefined;
        const ended = known === undefined ? await once(client, params, manner) : await this.end(known);
        return { commandId: ended.commandId, ended, departed: this.departedSince(since) };
      } catch (thrown) {
        if (!(await this.hub.hasLeft(client, thrown))) throw thrown;
      }
    }
  }

  departedSince({ kills, handOvers }: Departures): Departures {
    const now = this.hub.departures;
    const departed = { kills: now.kills - kills, handOvers: now.handOvers - handOvers };
    this.tally.survived.kills += departed.kills;
    this.tally.survived.handOvers += departed.handOvers;
    return departed;
  }

  /** The whole output of a finished command, from its result or, if that is cut, in pieces. */
  async output({ ended, commandId }: Pick<Performed, 'ended' | 'commandId'>, inPieces = false): Promise<Streams> {
    const { stdout = '', stderr = '', encoding, truncated } = ended;
    const isWhole = encoding !== undefined && truncated?.stdout === false && truncated.stderr === false;
    if (isWhole && !inPieces) {
      return {
        stdout: Buffer.from(stdout, encoding.stdout === 'base64' ? 'base64' : 'utf8'),
        stderr: Buffer.from(stderr, encoding.stderr === 'base64' ? 'base64' : 'utf8'),
      };
    }
    const chunks: OutputChunk[] = [];
    for (let fromSeq = 1; ; ) {
      const part = await this.hub.ask('exec.output', { commandId, fromSeq, maxBytes: 256 * 1024 });
      if (part.droppedBytes > 0) this.tally.mismatch(`${commandId}: ${part.droppedBytes} bytes are not in the log`);
      chunks.push(...part.chunks);
      if (part.nextSeq === fromSeq) break;
      fromSeq = part.nextSeq;
    }
    return join(chunks);
  }

  private async find(client: SidecarClient, mark: string): Promise<string | undefined> {
    const { commands } = await client.request('exec.list', { sessionId: this.sessionId });
    return commands.find(({ command }) => command.startsWith(mark))?.commandId;
  }
}

/** A first line that finds a command again if the sidecar went away before it could tell its id. */
function marked(command: string): { text: string; mark: string } {
  const mark = `: mark-${process.pid}-${++marks};\n`;
  return { text: mark + command, mark };
}

async function once(
  client: SidecarClient,
  params: Params<'exec.run'> & { background?: boolean; keepStdinOpen?: boolean },
  manner: Manner,
): Promise<Ended> {
  const { background, keepStdinOpen, ...run } = params;
  const whole = async (commandId: string) => client.request('exec.wait', { commandId });
  if (manner === 'start' && run.stdin === undefined) {
    const { commandId } = await client.request('exec.start', params);
    return whole(commandId);
  }
  if (manner === 'stream') {
    const { commandId } = await client.stream('exec.stream', run, () => {});
    return whole(commandId);
  }
  const result = await client.request('exec.run', run);
  return { met: 'exit', background: false, origin: 'soak', state: 'finished', ...result };
}

export function join(chunks: ReadonlyArray<Pick<OutputChunk, 'stream' | 'data' | 'encoding'>>): Streams {
  const bytes = (wanted: string) =>
    Buffer.concat(
      chunks
        .filter(({ stream }) => stream === wanted)
        .map(({ data, encoding }) => Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8')),
    );
  return { stdout: bytes('stdout'), stderr: bytes('stderr') };
}
