import type { SidecarClient } from '../client/client';
import { failure } from '../protocol/errors';
import type { Params } from '../protocol/methods';
import type { SessionInfo } from '../protocol/values';

/** People give sessions names, programs use ids: both are accepted. */
export async function findSession(client: SidecarClient, nameOrId: string): Promise<SessionInfo> {
  const found = await lookUp(client, nameOrId);
  if (found === undefined) throw failure.sessionNotFound(nameOrId);
  return found;
}

/** The session of that name, made if there is none yet. */
export async function findOrCreateSession(
  client: SidecarClient,
  nameOrId: string,
  creation: Params<'session.create'>,
): Promise<SessionInfo> {
  const found = await lookUp(client, nameOrId);
  if (found !== undefined) return found;
  if (/^s-[0-9a-f]{8}$/.test(nameOrId)) throw failure.sessionNotFound(nameOrId);
  return client.request('session.create', { ...creation, name: nameOrId });
}

async function lookUp(client: SidecarClient, nameOrId: string): Promise<SessionInfo | undefined> {
  const { sessions } = await client.request('session.list', {});
  const living = sessions.filter(({ state }) => state !== 'terminated');
  return living.find(({ sessionId }) => sessionId === nameOrId) ?? living.find(({ name }) => name === nameOrId);
}
