import type * as vscode from 'vscode';
import type { SidecarClient } from '../client/client';
import type { History } from './history';
import type { OutputChannels } from './output/channels';
import type { SessionsModel } from './sessions/model';
import type { SessionsTree } from './sessions/tree';
import type { Supervisor } from './supervisor';
import type { Terminals } from './terminal/terminals';

/** What everything in the extension works with. It exists only where sidecars can run. */
export interface Ctx {
  readonly supervisor: Supervisor;
  readonly log: vscode.LogOutputChannel;
  readonly model: SessionsModel;
  readonly tree: SessionsTree;
  readonly channels: OutputChannels;
  readonly terminals: Terminals;
  readonly history: History;
  /** The connection to a sidecar as soon as there is one. */
  readonly connect: () => Promise<SidecarClient>;
}
