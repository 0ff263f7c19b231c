import { failure, type LimpetError } from '../protocol/errors';

/** What the system can run out of, and what a person can do about it. */
const troubles: Record<string, string> = {
  ENOSPC: 'The disk is full. Free some space or inodes where the runtime and state directories are.',
  EDQUOT: 'The disk quota is used up. Free some space where the runtime and state directories are.',
  EROFS: 'The file system is read-only. Make the runtime and state directories writable again.',
  EIO: 'The disk or the system had an input/output error. Try again.',
  EMFILE: 'The sidecar has as many files open as it may. Destroy sessions, or raise its limit (ulimit -n).',
  ENFILE: 'The system has as many files open as it may. Close some programs.',
  EAGAIN: 'The system starts no more processes now. End some, or raise the limit (ulimit -u).',
  ENOMEM: 'The system has no memory left. End some processes.',
};

/** What may be otherwise in a moment, and so says nothing about whether a file is there. */
const passing = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EAGAIN', 'EINTR']);

export const isPassing = (thrown: unknown): boolean => passing.has((thrown as NodeJS.ErrnoException).code ?? '');

/** The system's own words for it, worded for whoever asked; nothing if it is no such trouble. */
export function describeTrouble(thrown: unknown): string | undefined {
  const code = (thrown as NodeJS.ErrnoException | undefined)?.code ?? '';
  const words = troubles[code];
  return words === undefined ? undefined : `${words} (${code})`;
}

/** A failure the caller can act on, if the system's refusal was the reason; otherwise what was thrown is a bug. */
export function systemFailure(thrown: unknown): LimpetError | undefined {
  const words = describeTrouble(thrown);
  return words === undefined ? undefined : failure.overloaded(words);
}
