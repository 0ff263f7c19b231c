import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { LimpetApi } from '../../../extension/api';

export function limpetExtension(): vscode.Extension<LimpetApi> {
  const extension = vscode.extensions.getExtension<LimpetApi>('limpet.limpet');
  assert.ok(extension, 'the packaged extension is installed');
  return extension;
}

/** The product as a user has it, active and with a sidecar. */
export async function startLimpet(): Promise<LimpetApi> {
  const api = await limpetExtension().activate();
  await api.sidecar.client();
  return api;
}

/** Polls: what is tested takes as long as it takes, within reason. */
export async function eventually<T>(probe: () => T | Promise<T>, timeoutMs = 10_000): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms for: ${probe}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
