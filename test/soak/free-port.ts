import { createServer } from 'node:net';

/** Below those the system gives to connections, so that nobody comes upon one by chance. */
const [first, count] = [20_000, 12_000];
let next = process.pid % count;

/** A port nobody listens on, another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % count);
    if (await isFree(port)) return port;
  }
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
