import { freeDot, inlined, type Overrides, printfProgram, quote, type ShellDialect, type ShellFiles } from './dialect';

/**
 * `command` stands before every builtin, so that a user's function of the same name is not called in its place. `<>` opens
 * a FIFO without ever blocking, also while no sidecar reads it. Every record has four fields, each ended by a NUL.
 */
const boot = ({ directory, control, snapshot, status }: ShellFiles, sessionId: string) => `
PS1= PS2= PROMPT_COMMAND=
unset HISTFILE
set +o history +o histexpand
declare -r __lmp=${quote(directory)} __lmp_session=${sessionId} __lmp_home=$PWD
export LIMPET_COMMAND_ID=${sessionId}:0

# Repeats the last report, for a sidecar that was not there to hear it. The question comes back with the answer.
__lmp_again() {
  command printf '\\1=A\\0%s\\0%s\\0%s\\0' "\${__lmp_last-0}:$1:\${__lmp_bg-0}:\${__lmp_u-}" "\${__lmp_s-0}" "\${PWD-}" 1<>${quote(control)}
}
# Makes $? what the command before left. The caller puts "&&:" behind it, so that set -e does not end the shell here.
__lmp_r() { command return "$1"; }
# The command could not be given its directory or environment, and was not run; that is repeated too.
__lmp_f() { __lmp_u=$1.$2; command printf '\\1=F\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}; }
__lmp_id() { LIMPET_COMMAND_ID=${sessionId}:$1; }
# A background command is reported by a program: nothing the user has named a function can come in between.
__lmp_p() { ${printfProgram} '\\1=P\\0%s\\0%s\\0\\0' "$1" "$BASHPID" 1<>${quote(control)}; }
# Its end is also written to a file: its shell is gone and cannot be asked again. What ends the command must not end this.
__lmp_e() {
  command trap '' HUP INT QUIT TERM
  ${printfProgram} '%s %s\\n' "$1" "$2" >>${quote(status)}
  ${printfProgram} '\\1=E\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}
}
__lmp_b() {
  LIMPET_COMMAND_ID=${sessionId}:$1
  command printf '\\1=B\\0%s\\0%s\\0%s\\0' "\${__lmp_restored-}\${__lmp_gone-}" "$$" "\${PWD-}" 1<>${quote(control)}
}
# While a command runs, bash keeps its own streams at the first free descriptors from 10 on. Those that the command will open
# or close by number are taken before, or it would take away what the shell reads its lines from.
__lmp_take() {
  local __lmp_v
  for __lmp_v in "$@"; do
    [[ -e /dev/fd/$__lmp_v ]] || command eval "exec $__lmp_v<>/dev/null"
  done
}
# Remembers in __lmp_undo how to put the named variables, or the directory, back.
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
}
# Back to a directory; if it is gone, to where the shell began: a "cd" that fails would leave $PWD and the shell apart.
__lmp_cd() {
  __lmp_gone=
  command cd -- "$1" && command return
  __lmp_gone=' gone'
  command cd -- "$__lmp_home" || command cd /
  command return 1
}
# Quoted by the shell itself, because the user may have disabled printf.
__lmp_old() { [[ -v OLDPWD ]] && __lmp_v="OLDPWD=\${OLDPWD@Q}" || __lmp_v='command unset OLDPWD'; }
# A directory that was removed, or that no variable names, is held open to get back there. Others are not: programs inherit it.
__lmp_keep_cwd() {
  local __lmp_v
  if [[ \${PWD-} -ef . ]]; then
    __lmp_undo+="__lmp_cd \${PWD@Q}||:"
  else
    command exec {__lmp_v}<.
    __lmp_undo+="if __lmp_cd /proc/$$/fd/$__lmp_v;then command exec $__lmp_v<&-;"
    [[ -v PWD ]] && __lmp_undo+="PWD=\${PWD@Q};fi" || __lmp_undo+='command unset PWD;fi'
  fi
  __lmp_undo+=$'\\n'
  __lmp_old
  __lmp_undo+=$__lmp_v$'\\n'
}
# Notes the positional parameters for an exit in a function, which sees only its own.
# Options come last: a restored "set -e" or "set -u" would end the restoring itself.
__lmp_snap() {
  local __lmp_v
  __lmp_args=("$@")
  __lmp_old
  __lmp_v=\${PWD+"__lmp_cd \${PWD@Q}||:"}$'\\n'$__lmp_v$'\\n'\${__lmp_undo-}
  {
    command shopt -p
    command declare -p
    command declare -f
    command declare -F
    command umask -p
    command printf 'set --'
    (( $# )) && command printf ' %q' "$@"
    command printf '\\n%s' "$__lmp_v"
    command alias -p
    command set +o
    command printf '__lmp_restored=all\\n'
  } >|${quote(`${snapshot}.new`)} 2>/dev/null
  {
    command export -p
    command printf '%s__lmp_restored=environment\\n' "$__lmp_v"
  } >|${quote(`${snapshot}.environment.new`)} 2>/dev/null
  command printf '\\1=T\\0%s\\0\\0\\0' "$?" 1<>${quote(control)}
}
# Takes a snapshot as the shell ends, and passes $? on to the user's own EXIT trap.
__lmp_x() {
  local __lmp_s=$? __lmp_w=$1
  shift
  [[ $__lmp_w == source ]] || set -- "\${__lmp_args[@]}"
  __lmp_snap "$@"
  command printf 'X %s %s\\n' "$$" "$__lmp_s" >>${quote(status)}
  command return "$__lmp_s"
}
# Puts the snapshot back in front of an EXIT trap that the user has set since. "set -x" would show all of it.
__lmp_arm() {
  local __lmp_t
  __lmp_t=$(command trap -p EXIT)
  [[ $__lmp_t == *__lmp_x* ]] && command return
  command eval "set -- \${__lmp_t#trap -- }"
  command trap -- '{ __lmp_x "\${FUNCNAME-source}" "$@";} 2>/dev/null'"\${1:+;$1}" EXIT
}
readonly -f __lmp_x __lmp_arm __lmp_again __lmp_r __lmp_f __lmp_id __lmp_take __lmp_p __lmp_e __lmp_b __lmp_cd __lmp_old __lmp_keep __lmp_keep_cwd __lmp_snap
__lmp_arm
# Bash forgets an interrupt unless its child dies of one too. It does not forget a trap, and runs it once the child is gone.
trap 'command kill -INT $$' VTALRM
# Where the user has a trap on INT, the one above leaves it pending until the next trap is run, whoever's. So one is run for that.
trap : URG
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
export function preparation({ cwd, env }: Overrides, cd: string, modifier: string, refused = /^$/): string {
  const names = Object.keys(env);
  // Ours are refused as read-only ones are: a lent status would be reported.
  if (names.some((name) => name.startsWith('__lmp') || refused.test(name))) return '__lmp_undo=\nreturn 2\n';
  const exports = names.map((name) => `${modifier}export ${name}=${quote(env[name] ?? '')} || return 2\n`).join('');
  // The directory is noted first: PWD may be among the variables.
  const [keep, enter] = cwd === undefined ? ['', ''] : ['__lmp_keep_cwd\n', `${cd} ${quote(cwd)} || return 1\n`];
  return `__lmp_keep ${names.join(' ')}\n${keep}${exports}${enter}:\n`;
}

/**
 * Straight to the builtin, and to the shell's own stdout, which is the control FIFO: a function, `command` or a redirection in
 * between takes as long as all the rest of the report. While the sidecar already works on that, the shell notes what it
 * reported and the next command's id; as plain assignments, because they are over before a function is even called.
 */
const tell = (number: number) =>
  `\\printf '\\1=D\\0%s\\0%s\\0%s\\0' ${number} "$__lmp_s" "\${PWD-}";` +
  `__lmp_last=${number} LIMPET_COMMAND_ID=$__lmp_session:${number + 1}\n`;

/**
 * A builtin that starts no process, and plain words. Bash is interactive where it does not read a file: of a program that
 * dies of a signal it would complain that there is no terminal, and about a job it would say a word.
 */
const plainBuiltin = /^(true|false|:|echo|printf|cd|pwd|test|type|umask|export|unset)( [\w ./=:,+@%~*?-]{0,200})?$/;

export const bash: ShellDialect = {
  name: 'bash',
  abandonSignal: 'SIGVTALRM',
  endsLineOnInterrupt: false,
  arguments: (bootFile) => ['--noprofile', '--noediting', '--rcfile', bootFile, '-i'],
  boot: (files, sessionId, profile) => (profile === 'user' ? userProfile : '') + boot(files, sessionId),
  ready: (next, restoreFile) =>
    (restoreFile === undefined ? '' : `\\. ${quote(restoreFile)} </dev/null >/dev/null 2>&1\n`) +
    `__lmp_b ${next}\n\\exec 1<>"$__lmp/ctl" 2>/dev/null\n`,
  // The trap on ERR is taken away between commands: it would also run for the line that sources the failed one.
  commandText: (command, { hasErrorTrap }) => `${hasErrorTrap ? '\\eval "$__lmp_err";' : ''}${command}\n`,
  preparation: (overrides) => preparation(overrides, 'command cd --', 'command '),
  inline: (text) => (plainBuiltin.test(text) ? `${inlined}${text}'` : undefined),
  foreground({ number, run: text, files, lastStatus, announce, prepared, hasErrorTrap, descriptors }) {
    const before =
      (announce ? `__lmp_id ${number};` : '') +
      (descriptors.length === 0 ? '' : `__lmp_take ${descriptors.join(' ')};`) +
      (lastStatus === 0 ? '' : `__lmp_r ${lastStatus}&&:;`);
    const run = `${text} <${files.stdin} 1<>${files.stdout} 2<>${files.stderr}`;
    const keepErrorTrap = hasErrorTrap ? '__lmp_err=$(\\trap -p ERR);\\trap - ERR;' : '';
    if (prepared === undefined) return `${before}${run}\n__lmp_s=$?;${keepErrorTrap}${tell(number)}`;
    return (
      `if \\. ${prepared};then ${before}${run};else __lmp_f ${number} $?;fi\n` +
      `__lmp_s=$?;${keepErrorTrap}\\eval "$__lmp_undo";__lmp_undo=;${tell(number)}`
    );
  },
  report: (number) => `__lmp_s=$?;${tell(number)}`,
  rearm: () => `${freeDot};__lmp_arm;__lmp_args=("$@")\n`,
  afterInterrupt: () => '\\command kill -URG $$\n',
  recall: (number) => `__lmp_q=$?;[[ \${__lmp_last-} == ${number} ]]||__lmp_s=$__lmp_q;`,
  remember: (number) => `__lmp_last=${number} LIMPET_COMMAND_ID=$__lmp_session:${number + 1}`,
  again: (question) => `__lmp_again ${question}\n`,
  background({ number, files, prepared }) {
    // The trap reports also when "set -e" ends the subshell. A subshell in the background would not expand aliases.
    // While the shell traces, only the command itself is given its stderr, or the trace would show the rest. Otherwise all
    // is: where "set -e" ends the command, bash leaves its EXIT trap what the group has.
    const prepare = prepared === undefined ? '' : `\\. ${prepared}||\\exit 125;`;
    return (
      `__lmp_bg=${number};( case $- in *x*)__lmp_q=/dev/null;;*)__lmp_q=${files.stderr};esac;\\trap '__lmp_e ${number} $?' EXIT;__lmp_p ${number};` +
      `( { \\shopt -s expand_aliases;__lmp_id ${number};${prepare}\\. ${files.text} 2<>${files.stderr};} 2<>"$__lmp_q" ) ` +
      `<${files.stdin} 1<>${files.stdout} 2<>${files.stderr} ) & \\disown\n`
    );
  },
  snapshot: () => '__lmp_snap "$@"\n',
  // What opens nothing itself still reports: its stdout is the control FIFO already.
  canOpen: () =>
    "if \\. /dev/null </dev/null 1<>/dev/null 2<>/dev/null;then __lmp_q=0;else __lmp_q=1;fi;\\printf '\\1=O\\0%s\\0\\0\\0' $__lmp_q\n",
};
