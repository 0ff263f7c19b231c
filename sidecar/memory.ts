import { setFlagsFromString } from 'node:v8';

/**
 * V8 lets the room for new objects grow from 2 MB to 32 MB, with how many objects there are in passing and not with how many
 * stay. A sidecar runs for days and keeps little, so it makes do with the first size: what it holds then stays flat.
 * To be called first of all.
 */
export function keepMemoryFlat(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
