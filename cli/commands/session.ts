import path from 'node:path';
import type { Command, Context, Values } from '../command';
import { isOn, only, text, texts, UsageError } from '../command';
import { ago, brief, sessionLines } from '../readable';
import { findSession } from '../sessions';
import { duration, environment, given } from '../values';

export const session: Command = {
  name: 'session',
  summary: 'Create, list, show, rename and destroy sessions',
  usage: `limpet session create [NAME] [options]
       limpet session list
       limpet session info NAME
       limpet session rename NAME NEW_NAME
       limpet session destroy NAME… | --all

NAME is a session's name or id.

Options of create:
      --shell SHELL    bash, zsh, or a path
  -C, --cwd DIR        start there (default: here)
  -e, --env NAME=VALUE variables of the session
      --profile user   load your rc files (default: clean)
  -t, --timeout TIME   for commands that give none of their own
      --idle TIME      end the session after so long without use
      --json           as JSON`,
  options: {
    shell: { type: 'string' },
    cwd: { type: 'string', short: 'C' },
    env: { type: 'string', short: 'e', multiple: true },
    profile: { type: 'string' },
    timeout: { type: 'string', short: 't' },
    idle: { type: 'string' },
    all: { type: 'boolean' },
  },

  async run(context, { values, positionals: [action, ...names] }) {
    switch (action) {
      case 'create':
        return create(context, values, names);
      case 'list':
      case 'ls':
        return list(context);
      case 'info':
        return info(context, only(names, 'NAME'));
      case 'rename':
        return rename(context, names);
      case 'destroy':
      case 'rm':
        return destroy(context, names, isOn(values, 'all'));
      default:
        throw new UsageError('Say what to do: create, list, info, rename or destroy.');
    }
  },
};

async function create(
  { screen, env, cwd, connect }: Context,
  values: Values,
  [name, extra]: string[],
): Promise<number> {
  if (extra !== undefined) throw new UsageError('One NAME is enough.');
  const profile = text(values, 'profile');
  if (profile !== undefined && profile !== 'user' && profile !== 'clean') {
    throw new UsageError('--profile must be "clean" or "user".');
  }
  const client = await connect();
  const made = await client.request('session.create', {
    cwd: path.resolve(cwd, text(values, 'cwd') ?? '.'),
    ...given({
      name,
      profile,
      shell: text(values, 'shell'),
      env: environment(texts(values, 'env'), env),
      defaultTimeoutMs: duration(text(values, 'timeout')),
      idleTimeoutMs: duration(text(values, 'idle')),
    }),
  });
  if (screen.json) screen.answer('session.create', made);
  else screen.line(made.sessionId);
  return 0;
}

async function list({ screen, connect }: Context): Promise<number> {
  const client = await connect();
  const listed = await client.request('session.list', {});
  if (screen.json) screen.answer('session.list', listed);
  else {
    screen.table(
      ['ID', 'NAME', 'SHELL', 'STATE', 'IDLE', 'CWD', 'RUNNING'],
      listed.sessions.map((session) => [
        session.sessionId,
        session.name,
        session.shell,
        session.state,
        ago(session.lastActiveAt),
        session.cwd,
        session.runningCommand === undefined ? '' : brief(session.runningCommand.command, 40),
      ]),
    );
  }
  return 0;
}

async function info({ screen, connect }: Context, name: string): Promise<number> {
  const found = await findSession(await connect(), name);
  if (screen.json) screen.answer('session.info', found);
  else
    for (const [field, value] of sessionLines(found)) screen.line(`${screen.paint('bold', field.padEnd(12))} ${value}`);
  return 0;
}

async function rename({ screen, connect }: Context, [name, newName]: string[]): Promise<number> {
  if (name === undefined || newName === undefined) throw new UsageError('Give the NAME and the NEW_NAME.');
  const client = await connect();
  const { sessionId } = await findSession(client, name);
  const renamed = await client.request('session.rename', { sessionId, name: newName });
  if (screen.json) screen.answer('session.rename', renamed);
  return 0;
}

async function destroy({ screen, connect }: Context, names: string[], all: boolean): Promise<number> {
  if (names.length === 0 && !all) throw new UsageError('NAME is missing; --all destroys every session.');
  const client = await connect();
  const sessions = all
    ? (await client.request('session.list', {})).sessions
    : await Promise.all(names.map((name) => findSession(client, name)));
  await Promise.all(sessions.map(({ sessionId }) => client.request('session.destroy', { sessionId })));
  const destroyed = sessions.map(({ sessionId }) => sessionId);
  if (screen.json) screen.data({ destroyed });
  else for (const sessionId of destroyed) screen.line(sessionId);
  return 0;
}
