import { SidecarClient } from '../../../client/client';
import { factsOf } from './facts';
import { EditorWindow } from './window';

let opened: Promise<EditorWindow> | undefined;

/**
 * Gives the tests of a suite the one window that all share, because opening one takes seconds, and someone else who uses its
 * sidecar. Each test leaves the window as it found it.
 */
export function useSharedWindow(take: (window: EditorWindow, agent: SidecarClient) => void): void {
  let window: EditorWindow;
  let agent: SidecarClient;
  before(async () => {
    window = await sharedWindow();
    agent = await connectAgent();
    take(window, agent);
  });
  afterEach(async function () {
    await leaveClean(window, agent, this.currentTest);
  });
  after(() => agent?.dispose());
}

export async function sharedWindow(): Promise<EditorWindow> {
  opened ??= EditorWindow.open('healthy');
  const window = await opened;
  await window.openLimpet();
  await window.sidecarPid();
  return window;
}

after(async () => {
  await (await opened)?.close();
});

/** Someone else who uses the window's sidecar. */
export function connectAgent(): Promise<SidecarClient> {
  const { runtimeDir } = factsOf('healthy');
  return SidecarClient.connect({ clientName: 'agent', sidecarPath: '', runtimeDir, start: false });
}

/** A picture of what went wrong, and a view as empty as it was. */
export async function leaveClean(window: EditorWindow, agent: SidecarClient, test?: Mocha.Test): Promise<void> {
  if (test?.state === 'failed') {
    await window.screenshot(`failed: ${test.title}`);
    await window.dismiss();
  }
  const { sessions } = await agent.request('session.list', {});
  for (const { sessionId } of sessions) await agent.request('session.destroy', { sessionId });
  await window.showsTree('');
}
