import { productVersion } from '../protocol/version';
import { configure } from './daemon/configuration';
import { help } from './daemon/help';
import { Refusal } from './daemon/refusal';
import { Sidecar } from './daemon/sidecar';
import { keepMemoryFlat } from './memory';

async function main(): Promise<void> {
  keepMemoryFlat();
  const request = configure(process.argv.slice(2), process.env);
  if ('show' in request) {
    process.stdout.write(request.show === 'help' ? help : `${productVersion}\n`);
    return;
  }
  await Sidecar.start(request.run);
}

main().catch((thrown: unknown) => {
  // Whoever started us may have closed its end; the exit code still says what happened.
  process.stderr.on('error', () => undefined);
  const refusal = thrown instanceof Refusal ? thrown : undefined;
  process.stderr.write(`limpet sidecar: ${refusal?.message ?? String(thrown)}\n`, () => {
    process.exit(refusal?.exitCode ?? 70);
  });
});
