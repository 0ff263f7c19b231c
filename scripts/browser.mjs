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

export function openBrowser() {
  return chromium.launch({ executablePath: onPath('chromium'), headless: true, args: flags });
}
