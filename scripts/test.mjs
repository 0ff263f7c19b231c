import { fork } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isCodeServerInstalled } from './code-server.mjs';
import { results, usesDesktop } from './editor-tests.mjs';
import { InOrder } from './in-order.mjs';
import { isInterrupted, onInterrupt } from './interrupt.mjs';
import { root } from './run.mjs';
import { groups, suites } from './suites.mjs';
import { ensureSystemPackages, packagesToBuildTheEditor, packagesToTest } from './system-packages.mjs';

const asked = process.argv.slice(2).flatMap((name) => groups[name] ?? [name]);
const unknown = asked.filter((name) => !(name in suites));
if (unknown.length > 0) {
  const known = [...Object.keys(suites), ...Object.keys(groups)];
  console.error(`There is no suite ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  process.exit(2);
}
const chosen = Object.keys(suites).filter((name) => asked.length === 0 || asked.includes(name));

const total = { passed: 0, failed: 0, skipped: 0 };
const add = (figures) => {
  for (const name of Object.keys(total)) total[name] += figures[name];
};

try {
  await ensureSystemPackages([
    ...packagesToTest,
    ...(chosen.includes('install') && !usesDesktop() && !isCodeServerInstalled() ? packagesToBuildTheEditor : []),
  ]);
  if (groups.editor.some((name) => chosen.includes(name))) {
    await rm(results, { recursive: true, force: true });
    await mkdir(results, { recursive: true });
  }
  const inOrder = new InOrder((text) => process.stdout.write(text));
  const running = {};
  for (const name of chosen) running[name] = runSuite(name, inOrder.writer(), running);
  await Promise.all(Object.values(running));
} catch (error) {
  console.error(error.message);
  total.failed += 1;
}

console.log(`\n${summary(total)}`);
// Not process.exit: what is written to a pipe must get there first.
process.exitCode = total.failed > 0 ? 1 : 0;

async function runSuite(name, output, others) {
  await Promise.all((suites[name].after ?? []).map((other) => others[other]));
  if (isInterrupted()) return;
  const started = Date.now();
  output.write(`\n── ${name}\n`);
  const figures = await figuresOf(name, output);
  add(figures);
  if (figures.passed + figures.failed + figures.skipped === 0) {
    output.write(`The suite ${name} ran no test at all, which is a failure.\n`);
    total.failed += 1;
  }
  output.write(`── ${name}: ${summary(figures)} in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  output.end();
}

function figuresOf(name, output) {
  return new Promise((resolve) => {
    const child = fork(join(root, 'scripts', 'suite.mjs'), [name], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    let figures;
    child.once('message', (message) => {
      figures = message;
    });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', output.write);
    const ended = new Promise((done) => child.once('exit', done));
    const forget = onInterrupt(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    child.once('error', (error) => output.write(`${error.message}\n`));
    child.once('close', (code, signal) => {
      forget();
      if (figures === undefined) output.write(`The suite broke off with ${signal ?? `exit code ${code}`}.\n`);
      resolve(figures ?? { passed: 0, failed: 1, skipped: 0 });
    });
  });
}

function summary({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
