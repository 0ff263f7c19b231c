import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Chat } from './chat';
import { editorAlone, type Run, timed } from './commands';

/** What an answer must tell to be right. */
const rows: [about: string, command: string, isRight: (text: string) => boolean][] = [
  ['exit code 7', '(exit 7)', (text) => /\bcode:? 7\b/i.test(text)],
  [
    'stdout and stderr apart',
    'echo out; echo err >&2',
    (text) => /stdout\b[\s\S]*\bout\b[\s\S]*stderr\b[\s\S]*\berr\b/.test(text.replaceAll('echo out; echo err >&2', '')),
  ],
  ['no newline at the end', 'printf nonl', (text) => text.replaceAll('printf nonl', '').includes('nonl')],
  ['cat, with nothing to read', 'cat', (text) => /\bcode:? 0\b/i.test(text)],
  ['exit 3', 'exit 3', (text) => /\bcode:? 3\b/i.test(text)],
  ['an unbalanced quote', 'echo "', (text) => /unexpected EOF/i.test(text)],
  ['sleep 100 &', 'sleep 100 &', (text) => !text.startsWith('FAILED')],
  ['5 MB of output', 'seq 1 700000', (text) => /\b1\r?\n2\r?\n3\r?\n/.test(text) && /\b699999\r?\n700000\b/.test(text)],
];

async function main(repetitions: number): Promise<void> {
  const chat = await Chat.open();
  try {
    await chat.page.evaluate(`
      globalThis.limpetClicks = [];
      document.addEventListener('click', () => globalThis.limpetClicks.push(Date.now()), true);
    `);
    // Seldom: looking costs the window time that the agent's work is measured in.
    const patience = { timeoutMs: 20 * 60_000, lookEveryMs: 1000 };
    const runs = await chat.send<Run>(`bench ${repetitions}`, 'Allow', patience);
    const clicks = await chat.page.evaluate<number[]>('globalThis.limpetClicks');
    const path = join(process.env.LIMPET_TEST_RESULTS ?? 'test-results', 'editor-bench.json');
    writeFileSync(path, JSON.stringify({ runs, clicks }, null, 2));
    console.log(table(runs, clicks));
  } finally {
    await chat.close();
  }
}

function table(runs: readonly Run[], clicks: readonly number[]): string {
  // What a person took to answer the question is not the tool's time.
  const elapsed = ({ from, to }: Run) => to - Math.max(from, ...clicks.filter((at) => at >= from && at <= to));
  const ways = [...new Set(runs.map(({ way }) => way))];
  const of = (way: string, command: string) => runs.filter((run) => run.way === way && run.command === command);
  const times = ways.map((way) =>
    of(way, timed)
      .map(elapsed)
      .sort((a, b) => a - b),
  );
  const percentile = (sorted: number[], part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  const judged = (way: string, command: string, isRight: (text: string) => boolean) => {
    const [run] = of(way, command);
    if (way === editorAlone) return '';
    if (run === undefined || run.hung) return 'hangs';
    return `${isRight(run.text) ? 'right' : 'WRONG'}, ${elapsed(run)} ms`;
  };
  const lines = [
    ['after approval', ...ways],
    ['---', ...ways.map(() => '---')],
    [`${timed}, p50`, ...times.map((sorted) => `${percentile(sorted, 0.5)} ms`)],
    [`${timed}, p95`, ...times.map((sorted) => `${percentile(sorted, 0.95)} ms`)],
    ...rows.map(([about, command, isRight]) => [about, ...ways.map((way) => judged(way, command, isRight))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

void main(Number(process.argv[2] ?? 20));
