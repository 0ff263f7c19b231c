import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandLog } from '../../sidecar/output/command-log';
import { LogStore } from '../../sidecar/output/log-store';

/** Logs of no engine, in a directory that is there while the tests of a suite run. */
export function temporaryLogs(): { next: () => CommandLog } {
  let directory = '';
  let logs: LogStore | undefined;
  let number = 0;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'limpet-test-'));
    const limits = { maxLogBytesPerCommand: 100_000_000, maxLogBytesTotal: 1_000_000_000 };
    logs = new LogStore({ stateDir: directory, runtimeDir: directory }, limits);
    logs.makeDirectory('s-1');
  });
  after(() => {
    logs?.dispose();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    next() {
      if (logs === undefined) throw new Error('There are logs only while a test runs.');
      return logs.create('s-1', ++number);
    },
  };
}
