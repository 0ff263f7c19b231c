import { closeSync, openSync } from 'node:fs';

/**
 * Fails as the system would if so many files cannot be opened now. Node loses the streams of a process that it could not
 * start for want of descriptors: each such attempt would cost two for good.
 */
export function needDescriptors(count: number): void {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync('/dev/null', 'r'));
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}
