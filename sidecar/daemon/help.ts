import { defaultLimits } from '../../protocol/limits';

const limits = Object.entries(defaultLimits)
  .map(([name, value]) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} N`;
    return `  ${flag.padEnd(34)}${value}`;
  })
  .join('\n');

export const help = `Usage: node sidecar.js [transports] [options]

Runs shell sessions for those who connect. Without a transport it serves the runtime
directory's pipe, where the editor and the limpet command find it.

Transports, several at once:
  --stdio                 vscode-jsonrpc on standard input and output
  --stdin                 a JSON object per line on standard input and output
  --socket PATH           the same lines on a Unix socket, for many clients
  --http HOST:PORT        POST / with "Authorization: Bearer TOKEN"; port 0 takes a free one
  --http-allow-remote     allow a HOST that other machines can reach

Options:
  --keep-alive MS         end after so long without a client (pipe only: 1800000; otherwise never)
  --handshake MS          close a connection that says nothing for so long (60000)
  --runtime-dir DIR       sockets, FIFOs and descriptors (LIMPET_RUNTIME_DIR)
  --state-dir DIR         logs and history (LIMPET_STATE_DIR)
  --log-level LEVEL       trace, debug, info, warn, error, fatal or silent (info)
  --env-file FILE         read LIMPET_* settings from FILE where flags and environment have none
  --help, --version

Every option can be given as LIMPET_NAME in the environment. LIMPET_TOKEN is the HTTP token; without it
one is made at random and written to a file that only you can read.

Limits and their defaults:
${limits}

Exit codes: 0 ended as asked, 64 wrong usage, 70 internal error, 75 already running, 77 refused for safety.
`;
