import { randomBytes } from 'node:crypto';

/** Such as `s-a1b2c3d4`. */
export function newSessionId(isTaken: (id: string) => boolean): string {
  for (;;) {
    const id = `s-${randomBytes(4).toString('hex')}`;
    if (!isTaken(id)) return id;
  }
}
