export type WindowName = 'healthy' | 'broken' | 'untrusted';

/** Where a running editor and its sidecar are. */
export interface WindowFacts {
  url: string;
  runtimeDir: string;
  stateDir: string;
  workspace: string;
}

export function factsOf(name: WindowName): WindowFacts {
  const windows: Record<string, WindowFacts> = JSON.parse(process.env.LIMPET_TEST_WINDOWS ?? '{}');
  const facts = windows[name];
  if (facts === undefined) throw new Error('The window tests need running editors: npm run test:editor');
  return facts;
}
