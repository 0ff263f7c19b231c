import { z } from 'zod';

/** What a running sidecar leaves in its runtime directory, so that others find it. It holds paths, never secrets. */
export const descriptor = z.object({
  name: z.literal('limpet'),
  version: z.string(),
  protocolVersion: z.int(),
  pid: z.int(),
  /** Tells this process from a later one with the same pid; null where the platform does not say. */
  processStart: z.string().nullable(),
  startedAt: z.string(),
  stateDir: z.string(),
  transports: z.array(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('pipe'), path: z.string() }),
      z.object({ kind: z.literal('socket'), path: z.string() }),
      z.object({ kind: z.literal('http'), url: z.string(), tokenPath: z.string().nullable() }),
      z.object({ kind: z.literal('stdin') }),
      z.object({ kind: z.literal('stdio') }),
    ]),
  ),
});

export type Descriptor = z.infer<typeof descriptor>;
export type DescribedTransport = Descriptor['transports'][number];
