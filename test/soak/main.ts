import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { processesHolding, processesMarked } from '../helpers/processes';
import { programs, Sandbox, until } from '../helpers/sidecar';
import { Complaints } from './complaints';
import { growthOfRss, leastPerMinute, type Sample, sample, slope } from './footprint';
import { Hub } from './hub';
import { Random } from './random';
import { Rest } from './rest';
import { Subject } from './subject';
import { oneRead, Tally } from './tally';
import { directories, Worker } from './worker';

const usage = `soak [--minutes N] [--sessions N] [--seed N] [--kill] [--kills N] [--hand-overs N]

A random mix of everything, on many sessions at once, compared with a model. --kill kills the sidecar now and then;
--kills and --hand-overs do so that many times and then end.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    sessions: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    kill: { type: 'boolean', default: false },
    kills: { type: 'string', default: '0' },
    'hand-overs': { type: 'string', default: '0' },
    help: { type: 'boolean', default: false },
  },
});

const blobBytes = 3 * 1024 * 1024;
const sampleMs = 2000;
const restEveryMs = 60_000;
/** The resident set is looked at so often, and the least counts: what one look has more is not yet given back. */
const looksAtRest = 5;
const most = { rssPerTenMinutes: 0.01, descriptorsPerTenMinutes: 0 };
const longEnoughMinutes = 10;
const fewestSamples = 5;

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const minutes = Number(values.minutes ?? (Number(values.kills) + Number(values['hand-overs']) > 0 ? 60 : 5));
  const wanted = { kills: Number(values.kills), handOvers: Number(values['hand-overs']) };
  const departs = values.kill || wanted.kills + wanted.handOvers > 0;
  console.log(
    `soak: ${minutes} minutes, ${values.sessions} sessions, seed ${seed}${departs ? ', with departures' : ''}`,
  );

  const sandbox = new Sandbox();
  const mark = `SOAK=${process.pid}.`;
  const collector = join(__dirname, '..', 'fixtures', 'collects-garbage.js');
  const env = { ...sandbox.env, SOAK: mark.slice('SOAK='.length), NODE_OPTIONS: `--require ${collector}` };
  const hub = new Hub({ sidecarPath: programs().sidecar, env });
  const tally = new Tally();
  const blob = randomBytes(blobBytes);
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 60_000;
  const descendants = () => processesMarked(mark).filter((pid) => pid !== hub.pid);
  let isOver = false;
  let failed: unknown;
  const isTime = () => isOver || failed !== undefined || elapsed() >= minutes;

  const random = new Random(seed);
  const workers = Array.from({ length: Number(values.sessions) }, (_, n) => {
    const root = join(sandbox.work, String(n));
    for (const directory of directories) {
      mkdirSync(join(root, directory), { recursive: true });
      writeFileSync(join(root, directory, 'blob'), blob);
    }
    const subject = new Subject(hub, tally, n % 3 === 2 ? 'zsh' : 'bash', root);
    return new Worker(subject, new Random(random.between(0, 2 ** 31)), { blob, root });
  });

  let unasked = 0;
  hub.onArrival = async (client) => {
    if (hub.unasked !== unasked) {
      const { arrivals, departures, pid } = hub;
      tally.mismatch(
        `${arrivals} arrivals after ${JSON.stringify(departures)}, the last is ${pid}; the one before went unasked`,
      );
      unasked = hub.unasked;
    }
    const { sessions } = await client.request('session.list', {});
    for (const { subject } of workers) {
      if (subject.sessionId !== '' && !sessions.some(({ sessionId }) => sessionId === subject.sessionId)) {
        tally.mismatch(`session ${subject.sessionId} is gone after ${JSON.stringify(hub.departures)}`);
      }
    }
  };

  const complaints = new Complaints(sandbox.stateDir);
  const listen = () => {
    for (const line of complaints.look()) tally.mismatch(`the sidecar complains: ${line}`);
  };

  await hub.connected();
  const before = sample(hub.pid, mark, sandbox.runtimeDir, 0);
  const samples: Sample[] = [];
  const sampling = setInterval(() => {
    listen();
    if (isTime()) return;
    const taken = sample(hub.pid, mark, sandbox.runtimeDir, elapsed());
    if (taken !== undefined) samples.push(taken);
  }, sampleMs);
  let told = 0;
  const telling = setInterval(() => {
    const now = samples.at(-1);
    const minute = Math.round(elapsed());
    if (now === undefined || minute === told) return;
    told = minute;
    console.log(
      `minute ${minute}: ${tally.commands} commands, ${tally.mismatches} mismatches, ${mb(now.rss)} MB, ` +
        `${now.descriptors} descriptors, ${now.processes} processes, ${now.files} files` +
        (departs ? `, ${hub.departures.kills} kills, ${hub.departures.handOvers} hand-overs` : ''),
    );
  }, 1000);

  const rest = new Rest(workers.length);
  const works = workers.map(async (worker) => {
    await worker.begin();
    while (!isTime() || rest.isWanted) {
      if (!rest.isWanted) await worker.step();
      else {
        await worker.finish();
        await rest.join();
        await worker.begin();
      }
    }
    await worker.finish();
  });
  const remember = (thrown: unknown) => {
    failed ??= thrown;
    rest.giveUp();
  };

  const atRest: Sample[] = [];
  /** Without sessions and without garbage: what is there then is what piles up. */
  const look = async () => {
    await until(() => descendants().length === 0, 'nothing is left of the sessions', 30_000);
    const looks: Sample[] = [];
    while (looks.length < looksAtRest) {
      process.kill((await hub.connected()).sidecar.pid, 'SIGUSR2');
      // Its answer comes after the garbage is gone.
      await hub.ask('system.ping', {});
      await hub.ask('system.ping', {});
      const taken = sample(hub.pid, mark, sandbox.runtimeDir, elapsed());
      if (taken !== undefined) looks.push(taken);
    }
    const [least] = looks.sort((one, other) => one.rss - other.rss);
    if (least !== undefined) atRest.push(least);
  };
  let lastRest = Promise.resolve();
  const resting = setInterval(() => {
    if (!isTime() && !rest.isWanted) lastRest = rest.during(look).catch(remember);
  }, restEveryMs);
  if (departs) clearInterval(resting);
  const worked = Promise.all(works.map((work) => work.catch(remember)));
  if (departs) await depart(hub, random, wanted, isTime).catch(remember);
  isOver = departs;
  await worked;
  clearInterval(sampling);
  clearInterval(telling);
  clearInterval(resting);
  await lastRest;
  if (failed !== undefined) tally.mismatch(`it broke off: ${failed instanceof Error ? failed.stack : failed}`);

  await until(() => descendants().length === 0, 'nothing is left of the sessions', 10_000).catch(() => undefined);
  const after = sample(hub.pid, mark, sandbox.runtimeDir, elapsed());
  const orphans = descendants().length;
  await hub.ask('system.shutdown', {});
  await until(() => processesMarked(mark).length === 0, 'the sidecar is gone', 20_000).catch(() => undefined);
  // What keeps FIFOs open does not carry the mark.
  const leftAtEnd = new Set([...processesMarked(mark), ...processesHolding(sandbox.runtimeDir)]).size;
  const filesAtEnd = readdirSync(sandbox.runtimeDir, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name !== 'sessions',
  );
  listen();
  const stateFiles = readdirSync(sandbox.stateDir, { recursive: true }).length;
  hub.dispose();
  await sandbox.dispose();
  return report({
    tally,
    hub,
    samples,
    atRest,
    before,
    after,
    orphans,
    leftAtEnd,
    filesAtEnd,
    stateFiles,
    minutes,
    departs,
  });
}

/** Lets the sidecar go at random moments, as often as was asked for, or until it is time. */
async function depart(
  hub: Hub,
  random: Random,
  wanted: { kills: number; handOvers: number },
  isTime: () => boolean,
): Promise<void> {
  const isCounted = wanted.kills + wanted.handOvers > 0;
  while (!isTime()) {
    const left = {
      kills: isCounted ? wanted.kills - hub.departures.kills : 1,
      handOvers: isCounted ? wanted.handOvers - hub.departures.handOvers : 0.3,
    };
    if (left.kills <= 0 && left.handOvers <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, random.between(50, 2000)));
    await hub.depart(
      random.weighted<'kills' | 'handOvers'>([
        [Math.max(0, left.kills), 'kills'],
        [Math.max(0, left.handOvers), 'handOvers'],
      ]),
    );
  }
}

const mb = (bytes: number) => (bytes / 1e6).toFixed(1);

const isEnd = (_: unknown, at: number, all: readonly unknown[]) => at === 0 || at === all.length - 1;

interface Outcome {
  tally: Tally;
  hub: Hub;
  samples: Sample[];
  atRest: Sample[];
  before: Sample | undefined;
  after: Sample | undefined;
  orphans: number;
  leftAtEnd: number;
  filesAtEnd: string[];
  stateFiles: number;
  minutes: number;
  departs: boolean;
}

function report(outcome: Outcome): number {
  const { tally, hub, samples, atRest, before, after, orphans, leftAtEnd, filesAtEnd, stateFiles, departs } = outcome;
  const warmUp = Math.min(5, outcome.minutes / 3);
  const isSteady = ({ minutes }: Sample) => minutes >= warmUp;
  const steady = atRest.filter(isSteady);
  const growth = {
    rss: growthOfRss(steady),
    rssAtWork: growthOfRss(leastPerMinute(samples.filter(isSteady))),
    descriptors: slope(steady, ({ descriptors }) => descriptors),
    files: slope(steady, ({ files }) => files),
    children: slope(steady, ({ children }) => children),
  };
  const zombies = Math.max(after?.zombies ?? 0, ...steady.map((one) => one.zombies));
  const peak = Math.max(0, ...samples.filter(isSteady).map(({ rss }) => rss));
  const isLong = !departs && outcome.minutes >= longEnoughMinutes;
  const broken: string[] = [];
  const bound = (isKept: boolean, what: string) => {
    if (!isKept) broken.push(what);
  };
  bound(tally.mismatches === 0, 'mismatches');
  bound(hub.unasked === 0, 'arrivals');
  bound(orphans === 0 && leftAtEnd === 0, 'orphans');
  bound(zombies === 0, 'zombies');
  bound(filesAtEnd.length === 0, 'files left at the end');
  if (isLong) {
    bound(steady.length >= fewestSamples, 'too few samples');
    bound(growth.rss <= most.rssPerTenMinutes, 'resident set');
    bound(growth.descriptors <= most.descriptorsPerTenMinutes, 'descriptors');
    bound(growth.files <= 0, 'files');
    bound(growth.children <= 0, 'children');
  }
  const { kills, handOvers } = hub.departures;
  if (kills === 0) bound(tally.lost.stdout + tally.lost.stderr === 0, 'lost bytes');
  bound(tally.mostLostPerKill <= oneRead, 'bytes lost at once');

  const atRestOf = (of: (one: Sample) => number | string) => steady.map(of).filter(isEnd).join(' → ');
  const signed = (value: number, digits = 2) => `${value >= 0 ? '+' : ''}${value.toFixed(digits)}`;
  console.log(
    [
      '',
      `commands            ${tally.commands}`,
      `mismatches          ${tally.mismatches}`,
      `arrivals            ${hub.arrivals}, unasked ${hub.unasked}`,
      ...(departs
        ? [
            `kills               ${kills}, while commands ran: ${tally.survived.kills} times in all`,
            `hand-overs          ${handOvers}, while commands ran: ${tally.survived.handOvers} times in all`,
            `bytes lost          stdout ${tally.lost.stdout}, stderr ${tally.lost.stderr}; at most ${tally.mostLostAtOnce} of one stream of a command`,
          ]
        : []),
      ...(steady.length < 2
        ? []
        : [
            `resident set        ${atRestOf(({ rss }) => mb(rss))} MB, ${signed(growth.rss * 100)} %/10 min; at work at most ${mb(peak)} MB, ${signed(growth.rssAtWork * 100)} %/10 min`,
            `descriptors         ${atRestOf(({ descriptors }) => descriptors)}, ${signed(growth.descriptors)}/10 min`,
            `children            ${atRestOf(({ children }) => children)}, ${signed(growth.children)}/10 min`,
            `runtime files       ${atRestOf(({ files }) => files)}, ${signed(growth.files)}/10 min`,
            `(the last four at rest, after ${warmUp.toFixed(1)} min)`,
          ]),
      `processes           zombies ${zombies}, orphans ${orphans}, left at the end ${leftAtEnd}`,
      `files               ${before?.files} → ${after?.files} without sessions, left at the end ${filesAtEnd.length}; of state ${stateFiles}`,
      ...filesAtEnd.map((name) => `                    ${name}`),
      isLong || departs ? '' : `(slopes are bounds only from ${longEnoughMinutes} minutes on)`,
      broken.length === 0 ? 'every bound is kept' : `BROKEN: ${broken.join(', ')}`,
    ].join('\n'),
  );
  return broken.length === 0 ? 0 : 1;
}

if (values.help) console.log(usage);
else {
  void main().then((code) => {
    process.exitCode = code;
  });
}
