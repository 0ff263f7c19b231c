import * as vscode from 'vscode';
import { type Params, sessionCreateParams } from '../../protocol/methods';
import type { SessionInfo } from '../../protocol/values';
import type { Ctx } from '../context';
import { viewIds } from '../contributions';
import { sessionDefaults } from '../settings';

/** In the first workspace folder, with the settings' defaults, where the call says nothing else. */
export function createSession(ctx: Ctx, wanted: Params<'session.create'>): Promise<SessionInfo> {
  const defaults = sessionDefaults();
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const params = sessionCreateParams.parse({
    ...(cwd === undefined ? {} : { cwd }),
    name: freeName(ctx.model.sessions.map(({ name }) => name)),
    ...defaults,
    ...wanted,
    ...(defaults.env === undefined && wanted.env === undefined ? {} : { env: { ...defaults.env, ...wanted.env } }),
  });
  // A shell with the user's own start-up files may take its time.
  return Promise.resolve(
    vscode.window.withProgress({ location: { viewId: viewIds.sessions } }, async () => {
      const client = await ctx.connect();
      const session = await client.request('session.create', params);
      ctx.model.learn(session);
      return session;
    }),
  );
}

/** The first of session 1, session 2, … that is not taken. */
export function freeName(taken: readonly string[]): string {
  for (let number = 1; ; number++) {
    const name = `session ${number}`;
    if (!taken.includes(name)) return name;
  }
}
