import { ensureCodeServer } from './code-server.mjs';
import { openDesktop } from './desktop.mjs';
import { packageExtension } from './package.mjs';
import { createPlayground } from './playground.mjs';
import { onPath } from './system-packages.mjs';
import { startWorkbench } from './workbench.mjs';

const desktop = onPath('code');
const codeServer = desktop === undefined ? await ensureCodeServer() : undefined;
const vsix = await packageExtension({ quiet: true });
const playground = await createPlayground();
let editor;
try {
  if (desktop !== undefined) {
    editor = await openDesktop(desktop, playground, vsix);
    console.log('\nVS Code is open with Limpet on a copy of the sample workspace. Close it or press Ctrl-C to end.');
  } else {
    editor = await startWorkbench(codeServer, playground, { vsixs: [vsix] });
    console.log(
      `\nVS Code with Limpet is ready; open\n\n  ${editor.url}\n\nPress Ctrl-C to end it and everything it started.`,
    );
  }
  await editor.ended;
} finally {
  await editor?.stop();
  await playground.dispose();
}
