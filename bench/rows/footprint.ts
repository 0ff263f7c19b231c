import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../child';
import type { Footprint } from '../children/many-commands';
import { median } from '../measure';
import { figure, type Row } from '../table';

const megabyte = 1024 * 1024;
/** What a child has put off is done after so long. */
const pauseMs = 200;

/** What a gigabyte of output costs in memory, in a process of its own. */
export async function memory(): Promise<Row[]> {
  const child = await Child.start('large-output.js');
  try {
    const ours = (await child.ask<number>('engine')) / megabyte;
    const pipe = (await child.ask<number>('raw pipe')) / megabyte;
    return [
      {
        what: 'resident growth over 1 GB of output, share of 64 MB',
        ours: figure(ours, 'MB'),
        rival: `${figure(pipe, 'MB')} (raw pipe)`,
        ratio: ours / 64,
        target: { atMost: 1 },
      },
    ];
  } finally {
    await child.dispose();
  }
}

/** What the number of open sessions costs. */
export async function sessions(): Promise<Row[]> {
  const [alone, crowded] = [await Child.start('many-sessions.js'), await Child.start('many-sessions.js')];
  try {
    const each = (await crowded.ask<number>('open 200')) / megabyte;
    const samples: Record<'alone' | 'one' | 'each', number[]> = { alone: [], one: [], each: [] };
    for (let round = 0; round < 20; round++) {
      for (const [kind, child, question] of [
        ['alone', alone, 'sample one'],
        ['one', crowded, 'sample one'],
        ['each', crowded, 'sample each in turn'],
      ] as const) {
        // It must not fall into the samples of another.
        await sleep(pauseMs);
        samples[kind].push(...(await child.ask<number[]>(question)));
      }
    }
    const [p50, one, every] = [median(samples.alone), median(samples.one), median(samples.each)];
    const row = (what: string, ours: number): Row => ({
      what: `${what}, against 1 session`,
      ours: figure(ours, 'ms'),
      rival: figure(p50, 'ms'),
      ratio: ours / p50,
    });
    return [
      { ...row('true in one of 200 sessions, p50', one), target: { atMost: 1.3 } },
      row('true in each of 200 sessions in turn, p50', every),
      {
        what: 'resident in the sidecar alone, without the shells, for each of 200 sessions, MB',
        ours: figure(each, 'MB'),
        rival: '',
        ratio: each,
        target: { atMost: 0.3 },
      },
    ];
  } finally {
    await Promise.all([alone.dispose(), crowded.dispose()]);
  }
}

const mostBytesEach = 512;

/** Whether anything piles up over thousands of commands; the first thousand warm up what is resident. */
export async function endurance(): Promise<Row[]> {
  const child = await Child.start('many-commands.js');
  try {
    const start = await child.ask<Footprint>('run 10');
    const early = await child.ask<Footprint>('run 990');
    const late = await child.ask<Footprint>('run 9000');
    const later = await child.ask<Footprint>('run 9000');
    const [first, second] = [(late.rss - early.rss) / 9000, (later.rss - late.rss) / 9000];
    const count = (what: string, before: number, after: number, since = 'at the start'): Row => ({
      what: `${what} more after 10 000 commands than ${since}`,
      ours: String(after),
      rival: String(before),
      ratio: after - before,
      target: { atMost: 0 },
    });
    return [
      {
        what: 'resident after 10 000 commands, against after 1000',
        ours: figure(late.rss / megabyte, 'MB'),
        rival: figure(early.rss / megabyte, 'MB'),
        ratio: late.rss / early.rss,
        target: { atMost: 1.1 },
      },
      {
        what: `resident more for each of 9000 further commands, share of ${mostBytesEach} bytes; rival: the 9000 before`,
        ours: figure(second, 'B'),
        rival: figure(first, 'B'),
        ratio: second / mostBytesEach,
        target: { atMost: 1 },
      },
      count('descriptors', start.descriptors, late.descriptors),
      count('zombies', start.zombies, late.zombies),
      count('runtime files', start.files, late.files),
      count('files of logs', early.logs, late.logs, 'after 1000'),
    ];
  } finally {
    await child.dispose();
  }
}
