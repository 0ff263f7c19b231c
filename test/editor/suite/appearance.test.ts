import assert from 'node:assert/strict';
import type { SidecarClient } from '../../../client/client';
import { onlyOnChange } from '../../../extension/context-keys';
import { contextKeys } from '../../../extension/contributions';
import { incidentNotices } from '../../../extension/notices';
import { whyUnsupported } from '../../../extension/platform';
import { statusBarContent } from '../../../extension/status-bar';
import type { SidecarState } from '../../../extension/supervisor';

const client = { sidecar: { pid: 4242, version: '1.2.3', protocolVersion: 1 } } as SidecarClient;
const running: SidecarState = { kind: 'running', client };
const restarting = (attempt: number): SidecarState => ({ kind: 'restarting', attempt, reason: 'It ended.' });
const failed: SidecarState = { kind: 'failed', reason: 'No space left.' };

describe('the status bar', () => {
  it('shows every state, and nothing when there is no sidecar to speak of', () => {
    const states: SidecarState[] = [{ kind: 'stopped' }, { kind: 'starting' }, running, restarting(1), failed];
    assert.deepEqual(
      states.map((state) => statusBarContent(state)),
      [
        undefined,
        { text: '$(loading~spin) Limpet', tooltip: 'The Limpet sidecar is starting.' },
        {
          text: '$(terminal) Limpet',
          tooltip: 'The Limpet sidecar 1.2.3 is running (process 4242). Select to see the sessions.',
          command: 'limpet.sessions.focus',
        },
        {
          text: '$(loading~spin) Limpet: restarting',
          tooltip: 'The Limpet sidecar is being restarted. It ended.',
          command: 'limpet.showLog',
          background: 'warning',
        },
        {
          text: '$(error) Limpet: no sidecar',
          tooltip: 'Limpet cannot run commands. No space left. Select to try again.',
          command: 'limpet.restartSidecar',
          background: 'error',
        },
      ],
    );
  });
});

describe('the status bar while commands run', () => {
  it('says how many', () => {
    assert.deepEqual(statusBarContent(running, 3), {
      text: '$(terminal) Limpet: 3 running',
      tooltip: 'Commands running: 3. The Limpet sidecar 1.2.3 is running (process 4242). Select to see the sessions.',
      command: 'limpet.sessions.focus',
    });
  });
});

describe('messages about the sidecar', () => {
  const noticesFor = (...states: SidecarState[]) =>
    states.map(incidentNotices()).filter((notice) => notice !== undefined);

  it('stay away while all is well, and when the user asked for the restart', () => {
    assert.deepEqual(noticesFor({ kind: 'starting' }, running, restarting(0), running), []);
  });

  it('come once when a sidecar was lost and replaced, however many attempts it took', () => {
    assert.deepEqual(noticesFor(running, restarting(1), restarting(2), restarting(3), running), [
      { severity: 'warning', message: 'The Limpet sidecar ended and was started again.' },
    ]);
  });

  it('come once when no sidecar can be started', () => {
    assert.deepEqual(noticesFor({ kind: 'starting' }, restarting(1), restarting(2), failed), [
      { severity: 'error', message: 'Limpet cannot run commands. No space left.' },
    ]);
  });
});

describe('context keys', () => {
  it('are set only when they change', () => {
    const calls: string[] = [];
    const set = onlyOnChange((key, value) => calls.push(`${key}=${value}`));
    for (const value of ['starting', 'running', 'running', 'starting']) set(contextKeys.sidecar, value);
    assert.deepEqual(calls, ['limpet.sidecar=starting', 'limpet.sidecar=running', 'limpet.sidecar=starting']);
  });
});

describe('the platform', () => {
  it('is supported on Linux and macOS; on Windows the user is told what to do', () => {
    assert.equal(whyUnsupported('linux'), undefined);
    assert.equal(whyUnsupported('darwin'), undefined);
    assert.match(whyUnsupported('win32') ?? '', /WSL: Reopen Folder in WSL/);
  });
});
