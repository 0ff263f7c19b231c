import { parseArgs } from 'node:util';
import { keepMemoryFlat } from '../sidecar/memory';
import { creation } from './rows/creation';
import { endurance, memory, sessions } from './rows/footprint';
import { latency } from './rows/latency';
import { sidecar } from './rows/sidecar';
import { throughput } from './rows/throughput';
import { isMissed, isRequired, type Row, render } from './table';

const groups: Record<string, () => Promise<Row[]>> = {
  latency,
  creation,
  throughput,
  memory,
  sessions,
  endurance,
  sidecar,
};

/** As a sidecar does. */
keepMemoryFlat();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(`bench [--check] [--only NAME]...\nNAME is one of ${Object.keys(groups).join(', ')}.`);
    return 0;
  }
  const unknown = values.only.filter((name) => !Object.hasOwn(groups, name));
  if (unknown.length > 0) {
    console.error(`There is no ${unknown.join(', ')}: choose from ${Object.keys(groups).join(', ')}.`);
    return 2;
  }
  const rows: Row[] = [];
  try {
    for (const [name, measure] of Object.entries(groups)) {
      if (values.only.length > 0 && !values.only.includes(name)) continue;
      console.error(`measuring ${name} …`);
      rows.push(...(await measure()));
    }
  } finally {
    console.log(render(rows));
  }
  const missed = rows.filter(isMissed);
  if (!values.check || missed.length === 0) return 0;
  console.error(`\n${missed.length} of ${rows.filter(isRequired).length} targets missed.`);
  const missing = new Set(missed.flatMap((row) => row.missing ?? []));
  if (missing.size > 0) console.error(`Install ${[...missing].join(', ')}: what is missing cannot be compared with.`);
  return 1;
}

void main().then((code) => {
  process.exitCode = code;
});
