import * as vscode from 'vscode';
import { findRuntimes, runtimeDirectoryOf, sidecarLogPath, stateDirectoryOf } from '../client/client';
import type { Ctx } from './context';
import { messageOf } from './message-of';

export interface Finding {
  ok: boolean;
  subject: string;
  found: string;
}

/** Looks at everything Limpet needs; a person gets it as a page that can be pasted into a report. */
export async function examine(ctx: Ctx): Promise<Finding[]> {
  const findings: Finding[] = [
    {
      ok: true,
      subject: 'VS Code',
      found: `${vscode.version}, ${process.platform} ${process.arch}, Node ${process.versions.node}`,
    },
    {
      ok: vscode.workspace.isTrusted,
      subject: 'Workspace',
      found: vscode.workspace.isTrusted ? 'trusted' : 'not trusted',
    },
  ];
  try {
    const client = await ctx.connect();
    const [described, { sessions, memory }] = await Promise.all([
      client.request('runtime.describe', {}),
      client.request('system.stats', {}),
    ]);
    const shells = described.shells.map(({ name, version, path }) => `${name} ${version} (${path})`).join(', ');
    findings.push(
      {
        ok: true,
        subject: 'Sidecar',
        found: `${described.version}, protocol ${described.protocolVersion}, process ${described.pid}`,
      },
      { ok: true, subject: 'Memory', found: `${Math.round(memory.rssBytes / 1024 / 1024)} MB` },
      { ok: true, subject: 'Sessions', found: `${sessions.total} of ${described.limits.maxSessions}` },
      { ok: shells !== '', subject: 'Shells', found: shells || 'none: install bash or zsh' },
    );
  } catch (thrown) {
    findings.push({ ok: false, subject: 'Sidecar', found: messageOf(thrown) });
  }
  return [
    ...findings,
    { ok: true, subject: 'Running sidecars', found: String(findRuntimes(runtimeDirectoryOf(process.env)).length) },
    { ok: true, subject: 'Runtime directory', found: runtimeDirectoryOf(process.env) },
    { ok: true, subject: 'State directory', found: stateDirectoryOf(process.env) },
    { ok: true, subject: 'Log', found: sidecarLogPath(process.env) },
  ];
}

export async function showFindings(findings: Finding[]): Promise<void> {
  const lines = findings.map(({ ok, subject, found }) => `| ${ok ? '✔' : '✘'} | ${subject} | ${found} |`);
  const content = ['# Limpet', '', '|   | what | found |', '|---|---|---|', ...lines, ''].join('\n');
  const document = await vscode.workspace.openTextDocument({ language: 'markdown', content });
  await vscode.window.showTextDocument(document, { preview: true });
}
