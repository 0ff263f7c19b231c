import { chromium } from 'playwright-core';
import { onPath } from './system-packages.mjs';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser that counts as a process of the playground, and leaves signals to us. */
export function openBrowser({ env }) {
  return chromium.launch({
    executablePath: onPath('chromium'),
    headless: true,
    args: flags,
    env,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}
