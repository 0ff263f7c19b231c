import type { Script } from './scripted-model';

const project = `mkdir -p job/lib && cd job && npm init -y >/dev/null
cat > lib/package.json <<'END'
{ "name": "lib", "version": "1.0.0" }
END
cat > lib/index.js <<'END'
exports.add = (a, b) => a - b;
END
cat > server.js <<'END'
require('node:http').createServer((_, answer) => answer.end('hello')).listen(Number(process.env.PORT), () => console.log('listening'));
END
cat > check.js <<'END'
const { add } = require('lib');
if (add(1, 2) !== 3) { console.error('add(1, 2) is ' + add(1, 2)); process.exit(1); }
console.log('ok');
END`;

/** Create a project, install, serve, look, see a test fail, mend it, see it pass, clean up. */
export const job =
  (port: number): Script =>
  (results) => {
    const server = /Command (\S+)\./.exec(results[2] ?? '')?.[1] ?? '';
    const run = (command: string, more: object = {}) => ({ tool: 'limpet_run_command', input: { command, ...more } });
    const moves = [
      run(project),
      run('npm install ./lib --no-audit --no-fund --offline'),
      run('node server.js', { background: true, env: { PORT: String(port) }, waitFor: { port } }),
      run(`curl -s http://127.0.0.1:${port}/`),
      run('node check.js'),
      run("sed -i 's/a - b/a + b/' lib/index.js"),
      run('node check.js'),
      { tool: 'limpet_stop_command', input: { commandId: server } },
      { tool: 'limpet_list_sessions', input: {} },
    ];
    return moves[results.length] ?? { say: 'The job is done.' };
  };
