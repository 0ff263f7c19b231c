import { type Overrides, quote, type ShellDialect, type ShellFiles } from './dialect';

/**
 * `command` stands before every builtin, so that a user's function of the same name is not called in its place. `<>` opens
 * a FIFO without ever blocking, also while no sidecar reads it. Every record has four fields, each ended by a NUL.
 */
const boot = ({ directory, control, snapshot, status }: ShellFiles, sessionId: string) => `
PS1= PS2= PROMPT_COMMAND=
unset HISTFILE
set +o history +o histexpand
declare -r __lmp=${quote(directory)}
export LIMPET_COMMAND_ID=${sessionId}:0

# Reports how a command ended. The id of the next one is set afterwards, while the sidecar already works on the report.
__lmp_d() {
  command printf 'D\\0%s\\0%s\\0%s\\0' "$1" "$2" "\${PWD-}" 1<>${quote(control)}
  __lmp_last=$1' '$2
  LIMPET_COMMAND_ID=${sessionId}:$(( $1 + 1 ))
}
# Repeats the last report, for a sidecar that was not there to hear it.
__lmp_again() { __lmp_d \${__lmp_last-0 0}; }
# Makes $? what the command before left. The caller puts "&&:" behind it, so that set -e does not end the shell here.
__lmp_r() { command return "$1"; }
# The command could not be given its directory or environment, and was not run.
__lmp_f() { command printf 'F\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}; }
__lmp_id() { LIMPET_COMMAND_ID=${sessionId}:$1; }
__lmp_p() { command printf 'P\\0%s\\0%s\\0\\0' "$1" "$BASHPID" 1<>${quote(control)}; }
# A background command's end is also written to a file: its shell is gone and cannot be asked again.
__lmp_e() {
  command printf '%s %s\\n' "$1" "$2" >>${quote(status)}
  command printf 'E\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}
}
__lmp_b() {
  LIMPET_COMMAND_ID=${sessionId}:$1
  command printf 'B\\0%s\\0%s\\0%s\\0' "\${__lmp_restored-}" "$$" "\${PWD-}" 1<>${quote(control)}
}
# Remembers in __lmp_undo how to put the named variables and the directory back.
__lmp_keep() {
  local __lmp_v
  __lmp_undo=
  for __lmp_v in "$@"; do
    if [[ -v $__lmp_v ]]; then
      __lmp_undo+="$(command declare -p "$__lmp_v")"$'\\n'
    else
      __lmp_undo+="command unset $__lmp_v"$'\\n'
    fi
  done
  command printf -v __lmp_v 'command cd -- %q\\nOLDPWD=%q\\n' "\${PWD-/}" "\${OLDPWD-}"
  __lmp_undo+=$__lmp_v
}
# Options come last: a restored "set -e" or "set -u" would end the restoring itself.
__lmp_snap() {
  {
    command shopt -p
    command declare -p
    command declare -f
    command declare -F
    command umask -p
    command printf 'set --'
    (( $# )) && command printf ' %q' "$@"
    command printf '\\ncommand cd -- %q\\n' "\${PWD-/}"
    command alias -p
    command set +o
    command printf '__lmp_restored=all\\n'
  } >|${quote(`${snapshot}.new`)} 2>/dev/null
  {
    command export -p
    command printf 'command cd -- %q\\n__lmp_restored=environment\\n' "\${PWD-/}"
  } >|${quote(`${snapshot}.environment.new`)} 2>/dev/null
  command printf 'T\\0%s\\0\\0\\0' "$?" 1<>${quote(control)}
}
readonly -f __lmp_d __lmp_again __lmp_r __lmp_f __lmp_id __lmp_p __lmp_e __lmp_b __lmp_keep __lmp_snap
trap '__lmp_snap "$@"' EXIT
`;

/** A user's rc file may print, and expects PS1 to be set; what it does beyond that is bounded by the start's deadline. */
const userProfile = `
PS1='$ '
for __lmp_rc in /etc/bash.bashrc ~/.bashrc; do
  [ -r "$__lmp_rc" ] && . "$__lmp_rc" </dev/null
done
unset __lmp_rc
`;

/** Text that gives a command its own directory and variables; status 1 says that the directory failed, 2 a variable. */
export function preparation({ cwd, env }: Overrides, cd: string, modifier: string): string {
  const names = Object.keys(env);
  const exports = names.map((name) => `${modifier}export ${name}=${quote(env[name] ?? '')} || return 2\n`).join('');
  return `__lmp_keep ${names.join(' ')}\n${exports}${cwd === undefined ? '' : `${cd} ${quote(cwd)} || return 1\n`}:\n`;
}

export const bash: ShellDialect = {
  name: 'bash',
  arguments: (bootFile) => ['--noprofile', '--noediting', '--rcfile', bootFile, '-i'],
  boot: (files, sessionId, profile) => (profile === 'user' ? userProfile : '') + boot(files, sessionId),
  ready: (next, restoreFile) =>
    (restoreFile === undefined ? '' : `\\. ${quote(restoreFile)} </dev/null >/dev/null 2>&1\n`) +
    `__lmp_b ${next}\n\\exec >/dev/null 2>&1\n`,
  commandText: (command) => `${command}\n`,
  preparation: (overrides) => preparation(overrides, 'command cd --', 'command '),
  foreground({ number, files, lastStatus, announce, prepared }) {
    const before = (announce ? `__lmp_id ${number};` : '') + (lastStatus === 0 ? '' : `__lmp_r ${lastStatus}&&:;`);
    const run = `\\. ${files.text} <${files.stdin} 1<>${files.stdout} 2<>${files.stderr}`;
    if (prepared === undefined) return `${before}${run}\n${this.report(number)}`;
    return (
      `if \\. ${prepared};then ${before}${run};else __lmp_f ${number} $?;fi\n` +
      `__lmp_s=$?;\\eval "$__lmp_undo";__lmp_d ${number} "$__lmp_s"\n`
    );
  },
  report: (number) => `__lmp_d ${number} $?\n`,
  again: () => '__lmp_again\n',
  background({ number, files, prepared }) {
    // The trap reports also when "set -e" ends the subshell.
    const prepare = prepared === undefined ? '' : `\\. ${prepared}||\\exit 125;`;
    return (
      `( \\trap '__lmp_e ${number} $?' EXIT;__lmp_p ${number};` +
      `( __lmp_id ${number};${prepare}\\. ${files.text} ) ` +
      `<${files.stdin} 1<>${files.stdout} 2<>${files.stderr} ) & \\disown\n`
    );
  },
  snapshot: () => '__lmp_snap "$@"\n',
};
