import { failure } from '../errors';
import type { Params } from '../methods';
import type { SessionInfo } from '../values';
import type { ToolClient } from './client';

/** The folder an agent works in, and how the session that belongs to it is called. */
export interface Workspace {
  folder: string;
  sessionName: string;
}

/** Agents inside and outside the editor come to the same name for a folder; folders that are called alike stay apart. */
export function workspaceAt(folder: string): Workspace {
  const path = folder.length > 1 ? folder.replace(/\/+$/, '') : folder;
  let hash = 0x811c9dc5;
  for (const character of path) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  const name = path.split('/').at(-1) || 'root';
  return { folder: path, sessionName: `${name}-${(hash & 0xffff).toString(16).padStart(4, '0')}` };
}

/** Finds sessions by name or id, and makes those that are asked for by a new name. */
export class ToolSessions {
  /** Calls made side by side must not make the same session twice. */
  private readonly making = new Map<string, Promise<SessionInfo>>();

  constructor(
    private readonly client: ToolClient,
    private readonly workspace: Workspace,
    private readonly defaults: () => Params<'session.create'> = () => ({}),
  ) {}

  async find(nameOrId: string): Promise<SessionInfo> {
    const found = await this.lookUp(nameOrId);
    if (found === undefined) throw failure.sessionNotFound(nameOrId);
    return found;
  }

  findOrCreate(nameOrId = this.workspace.sessionName): Promise<SessionInfo> {
    const under = this.making.get(nameOrId);
    if (under !== undefined) return under;
    const made = this.lookUpOrCreate(nameOrId).finally(() => this.making.delete(nameOrId));
    this.making.set(nameOrId, made);
    return made;
  }

  create(params: Params<'session.create'>): Promise<SessionInfo> {
    const defaults = { cwd: this.workspace.folder, ...this.defaults() };
    const env = { ...defaults.env, ...params.env };
    return this.client.request('session.create', { ...defaults, ...params, env });
  }

  async lookUp(nameOrId: string): Promise<SessionInfo | undefined> {
    const { sessions } = await this.client.request('session.list', {});
    const living = sessions.filter(({ state }) => state !== 'terminated');
    return living.find(({ sessionId }) => sessionId === nameOrId) ?? living.find(({ name }) => name === nameOrId);
  }

  private async lookUpOrCreate(nameOrId: string): Promise<SessionInfo> {
    const found = await this.lookUp(nameOrId);
    if (found !== undefined) return found;
    if (/^s-[0-9a-f]{8}$/.test(nameOrId)) throw failure.sessionNotFound(nameOrId);
    return this.create({ name: nameOrId });
  }
}
