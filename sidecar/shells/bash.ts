import {
  afterStatus,
  freeDot,
  inlined,
  nowhere,
  type Overrides,
  outlived,
  printfProgram,
  putBack,
  quote,
  type ShellDialect,
  type ShellFiles,
} from './dialect';

/**
 * `command` stands before every builtin, so that a user's function of the same name is not called in its place. `<>` opens
 * a FIFO without ever blocking, also while no sidecar reads it. Every record has four fields, each ended by a NUL.
 */
const boot = ({ directory, control, snapshot, status }: ShellFiles, sessionId: string) => `
PS1= PS2= PROMPT_COMMAND=
unset HISTFILE
set +o history +o histexpand
# "set -a" would export our functions and variables to every program; arrays it cannot.
declare -a __lmp_s=(0) __lmp_t __lmp_last __lmp_bg __lmp_u __lmp_q __lmp_v __lmp_undo __lmp_gone __lmp_restored __lmp_args __lmp_io
[[ $- == *a* ]] && __lmp_q=-a || __lmp_q=+a
set +a
declare -r __lmp=${quote(directory)} __lmp_session=${sessionId} __lmp_home=$PWD
export LIMPET_COMMAND_ID=${sessionId}:0

# Repeats the last report, for a sidecar that was not there to hear it. The question comes back with the answer.
__lmp_again() {
  command printf '\\1=A\\0%s\\0%s\\0%s\\0' "\${__lmp_last-0}:$1:\${__lmp_bg-0}:\${__lmp_u-}" "\${__lmp_s-0} \${__lmp_t-}" "\${PWD-}" 1<>${quote(control)}
}
# Makes $? what the command before left. The caller puts "&&:" behind it, so that set -e does not end the shell here.
__lmp_r() { command return "$1"; }
# The command could not be given its directory or environment, and was not run; that is repeated too.
__lmp_f() { __lmp_u=$1.$2; __lmp_o '\\1=F\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}; }
# As that, for a background command: it is also written to a file, since its shell is gone and cannot be asked again.
__lmp_n() { __lmp_o 'F %s %s\\n' "$1" "$2" >>${quote(status)}; __lmp_f "$1" "$2"; command return 125; }
# To assign to what the user has made read-only would leave out the command.
__lmp_id() { [[ \${LIMPET_COMMAND_ID+\${LIMPET_COMMAND_ID@a}} == *r* ]] || LIMPET_COMMAND_ID=${sessionId}:$1; }
# A background command is reported by a program: nothing the user has named a function can come in between. With more
# exported than a program can be given, none can be run; then the builtin must do.
__lmp_o() { ${printfProgram} "$@" || command printf "$@"; }
__lmp_p() { __lmp_o '\\1=P\\0%s\\0%s\\0%s\\0' "$1" "$2" "$BASHPID" 1<>${quote(control)}; }
# Its end is also written to a file: its shell is gone and cannot be asked again. What ends the command must not end this.
__lmp_e() {
  command trap '' HUP INT QUIT TERM
  __lmp_o '%s %s\\n' "$1" "$2" >>${quote(status)}
  __lmp_o '\\1=E\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}
}
__lmp_b() {
  __lmp_id "$1"
  command printf '\\1=B\\0%s\\0%s\\0%s\\0' "\${__lmp_restored-}\${__lmp_gone-}" "$$" "\${PWD-}" 1<>${quote(control)}
}
# With "set -T" the user's traps on DEBUG and RETURN would run in all of our functions, and what they print would be taken for
# ours. What is called while that is off does not inherit them. With "set -a" our locals would be exported.
__lmp_quiet() {
  local -a __lmp_c=("$?") __lmp_flags=("$-")
  command set +aT
  __lmp_r "$__lmp_c" && :
  "$@"
  __lmp_c=$?
  [[ $__lmp_flags != *T* ]] || command set -T
  [[ $__lmp_flags != *a* ]] || command set -a
  command return "$__lmp_c"
}
# While a command runs, bash keeps its own streams at the first free descriptors from 10 on. Those that the command will open
# or close by number are taken before, or it would take away what the shell reads its lines from.
__lmp_take() {
  local __lmp_v
  for __lmp_v in "$@"; do
    [[ -e /dev/fd/$__lmp_v ]] || command eval "exec $__lmp_v<>/dev/null" || :
  done
}
# Remembers in __lmp_undo how to put the named variables, or the directory, back.
__lmp_keep() {
  local __lmp_v
  __lmp_undo=
  for __lmp_v in "$@"; do
    # Unset first, because what it is declared as again may be without a value, or not exported.
    __lmp_undo+="command unset $__lmp_v"$'\\n'
    command declare -p "$__lmp_v" >${nowhere} 2>&1 && __lmp_undo+="$(command declare -p "$__lmp_v")"$'\\n'
  done
}
# Back to a directory; if it is gone, to where the shell began: a "cd" that fails would leave $PWD and the shell apart.
__lmp_cd() {
  __lmp_gone=
  command cd -- "$1" && command return
  # Where PWD or OLDPWD is read-only it tells of a failure although it went there.
  [[ . -ef $1 ]] && command return 0
  __lmp_gone=' gone'
  command cd -- "$__lmp_home" || command cd /
  command return 1
}
# Quoted by the shell itself, because the user may have disabled printf.
__lmp_old() { [[ -v OLDPWD ]] && __lmp_v="OLDPWD=\${OLDPWD@Q}" || __lmp_v='command unset OLDPWD'; }
# A directory that was removed, or that no variable names, is held open to get back there. Others are not: programs inherit it.
__lmp_keep_cwd() {
  local __lmp_v
  # Then every "cd" goes where it was told to and fails.
  [[ \${OLDPWD+\${OLDPWD@a}} != *r* ]] || command return
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
# Options come late: a restored "set -e" or "set -u" would end the restoring itself. "set -t" is the one that ends any shell.
# Aliases come last: one may be for a word that is needed here.
# Functions may need extglob to be read, also where it was only on while they were defined.
__lmp_snap() { __lmp_quiet __lmp_save "$@"; }
__lmp_save() {
  local __lmp_v __lmp_n=$1
  command set +t
  __lmp_args=("\${@:2}")
  __lmp_old
  __lmp_v=\${PWD+"__lmp_cd \${PWD@Q}||:"}$'\\n'$__lmp_v$'\\n'\${__lmp_undo-}
  {
    command shopt -p
    command declare -p
    command printf 'shopt -s extglob\\n'
    command declare -f
    command declare -F
    command shopt -p extglob || :
    command umask -p
    command printf 'set --'
    (( $# > 1 )) && command printf ' %q' "\${@:2}"
    command printf '\\n%s' "$__lmp_v"
    command set +o
    [[ $__lmp_flags == *T* ]] && command printf 'set -T\\n'
    [[ $__lmp_flags == *a* ]] && command printf 'set -a\\n'
    command alias -p
    command printf '__lmp_restored=all\\n'
  } >|${quote(`${snapshot}.new`)} 2>${nowhere}
  {
    command export -p
    command printf '%s__lmp_restored=environment\\n' "$__lmp_v"
  } >|${quote(`${snapshot}.environment.new`)} 2>${nowhere}
  command printf '\\1=T\\0%s\\0%s\\0\\0' "$?" "$__lmp_n" 1<>${quote(control)}
}
# Names that are local where a function ends the shell, each as often as that hides something: to unset it from a function
# that was called uncovers what is below. It tries that out, so it is for a subshell.
__lmp_hidden() {
  local __lmp_i __lmp_n __lmp_v __lmp_d=("\${FUNCNAME[@]}")
  command mapfile -t __lmp_n <<<"$(command compgen -v)"
  for __lmp_v in "\${__lmp_n[@]}"; do
    [[ $__lmp_v == @(_|__lmp*) ]] && continue
    for __lmp_i in "\${__lmp_d[@]}"; do
      command unset -v "$__lmp_v" && command declare -p "$__lmp_v" >/dev/null || break
      command printf '%s\\n' "$__lmp_v"
    done
  done 2>${nowhere}
}
# Takes a snapshot as the shell ends, and passes $? on to the user's own EXIT trap.
__lmp_x() {
  local __lmp_s=$? __lmp_w=$1
  if [[ $__lmp_w == source ]]; then
    __lmp_save '' "\${@:2}"
  else
    (
      command mapfile -t __lmp_w <<<"$(__lmp_hidden)"
      for __lmp_v in "\${__lmp_w[@]}"; do command unset -v "$__lmp_v"; done
      __lmp_save '' "\${__lmp_args[@]}"
    )
  fi
  command printf 'X %s %s\\n' "$$" "$__lmp_s" >>${quote(status)}
  command return "$__lmp_s"
}
# Where "set -e" ends the shell, bash has already put its own streams back when it runs the user's EXIT trap.
__lmp_streams() {
  local __lmp_s=$?
  [[ \${__lmp_io-} && /dev/fd/1 -ef $__lmp/ctl ]] && command exec 1<>"\${__lmp_io[0]}" 2<>"\${__lmp_io[1]}"
  command return "$__lmp_s"
}
# Puts the snapshot back in front of an EXIT trap that the user has set since. "set -x" would show all of it.
__lmp_arm() {
  local __lmp_t
  __lmp_t=$(command trap -p EXIT)
  [[ $__lmp_t == *__lmp_x* ]] && command return
  command eval "set -- \${__lmp_t#trap -- }"
  # In POSIX mode one that is not set is told as "-".
  [[ \${1-} == - ]] && command shift 2
  command trap -- '{ __lmp_quiet __lmp_x "\${FUNCNAME-source}" "$@"&&:;} >${nowhere} 2>&1'"\${1:+;__lmp_streams&&:;$1}" EXIT
}
readonly -f __lmp_x __lmp_hidden __lmp_arm __lmp_quiet __lmp_save __lmp_streams __lmp_again __lmp_r __lmp_f __lmp_n __lmp_id __lmp_take __lmp_o __lmp_p __lmp_e __lmp_b __lmp_cd __lmp_old __lmp_keep __lmp_keep_cwd __lmp_snap
__lmp_arm
# Bash forgets an interrupt unless its child dies of one too. It does not forget a trap, and runs it once the child is gone.
# While it waits for a line, it would crash of that; then its input is the one with the lines.
trap 'command test /dev/fd/0 -ef "$__lmp/in"||command kill -INT $$' VTALRM
# Where the user has a trap on INT, the one above leaves it pending until the next trap is run, whoever's. So one is run for that.
trap : URG
set "$__lmp_q"
`;

/** A user's rc file may print, and expects PS1 to be set; what it does beyond that is bounded by the start's deadline. */
const userProfile = `
PS1='$ '
for __lmp_rc in /etc/bash.bashrc ~/.bashrc; do
  [ -r "$__lmp_rc" ] && . "$__lmp_rc" </dev/null
done
unset __lmp_rc
`;

/**
 * Whether what gives a command its own things, and takes them back, is what it seems: nothing the user has named or disabled.
 * Here and in all lines no `[[`: after a syntax error in one, bash takes the first that it reads next for another.
 */
const able = (modifier: string) =>
  `__lmp_able= __lmp_undo=
\\eval '__lmp_able=y'
case $__lmp_able in y) ;; *) return 3; esac
${modifier}unset __lmp_able
case \${__lmp_able+set} in set) return 3; esac
${modifier}export __lmp_able=y
case \${__lmp_able-} in y) ;; *) return 3; esac
${modifier}unset __lmp_able
`;

/** Text that gives a command its own directory and variables; status 1 says that the directory failed, 2 a variable, 3 the shell itself. */
export function preparation({ cwd, env }: Overrides, cd: string, modifier: string, refused = /^$/): string {
  const names = Object.keys(env);
  // Ours are refused as read-only ones are: a lent status would be reported.
  if (names.some((name) => name.startsWith('__lmp') || refused.test(name))) return '__lmp_undo=\nreturn 2\n';
  const exports = names.map((name) => `${modifier}export ${name}=${quote(env[name] ?? '')} || return 2\n`).join('');
  // The directory is noted first: PWD may be among the variables.
  const [keep, enter] =
    cwd === undefined ? ['', ''] : ['__lmp_keep_cwd || return 3\n', `${cd} ${quote(cwd)} || return 1\n`];
  return `${able(modifier)}__lmp_keep ${names.join(' ')}\n${keep}${exports}${enter}:\n`;
}

/**
 * Straight to the builtin, and to the shell's own stdout, which is the control FIFO: a function, `command` or a redirection in
 * between takes as long as all the rest of the report. While the sidecar already works on that, the shell notes what it
 * reported and the next command's id; as plain assignments, because they are over before a function is even called.
 */
const tell = (number: number, status = '$__lmp_s') =>
  `\\printf '\\1=D\\0%s\\0%s\\0%s\\0' ${number} "${status}" "\${PWD-}";` +
  `__lmp_last=${number} LIMPET_COMMAND_ID=$__lmp_session:${number + 1}\n`;

/** What bash says of itself with its status: that a trap on ERR was set aside. No letter of `$-` looks like that. */
const errorTrapFlag = '!';

/**
 * Between commands a trap on ERR is set aside in a file: bash would also run it for the line that sources the failed command.
 * Not in a variable, which would take a process.
 */
const setErrorTrapAside =
  '\\builtin trap -p ERR >|"$__lmp/err"&&\\builtin trap - ERR;' +
  `\\builtin test -s "$__lmp/err"&&__lmp_t=${errorTrapFlag}||__lmp_t=;`;

/** Puts the stdout back that reports go to. */
const reportsAgain = '\\exec 1<>"$__lmp/ctl";';

/**
 * Reports a background command's end; by way of `command` only where it must be, since that can be a function too. A signal to
 * what reports, as to everything that is called bash, must not end it before the command: the status would be none.
 */
const trapExit = (number: number) => {
  const report = `trap '__lmp_e ${number} "$?"' EXIT`;
  const stay = `trap : ${outlived}`;
  return `if \\declare -F trap >/dev/null;then command ${stay};command ${report};else \\${stay};\\${report};fi;`;
};

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
  ready: (next, restoreFile, bootFile) =>
    // In POSIX mode, as with POSIXLY_CORRECT in the environment, bash does not read the file it was told to.
    `case \${__lmp_home+set} in '')\\. ${quote(bootFile)} </dev/null;esac\n` +
    // "set -e", from rc files or SHELLOPTS, would end the restoring, which sets all options in the end.
    (restoreFile === undefined ? '' : `\\command set +e;\\. ${quote(restoreFile)} </dev/null >/dev/null 2>&1\n`) +
    `__lmp_b ${next}\n\\exec 1<>"$__lmp/ctl" 2>${nowhere}\n`,
  // In a group, whose stderr is not the command's: a trace would show it.
  commandText: (command, { flags, lastStatus, isBackground }) =>
    flags.includes(errorTrapFlag) && !isBackground
      ? `{ \\. "$__lmp/err"&&:;__lmp_r ${lastStatus}&&:;} >/dev/null 2>&1;${command}\n`
      : `${command}\n`,
  preparation: (overrides) => preparation(overrides, 'command cd --', 'command '),
  inline: (text) => (plainBuiltin.test(text) ? `${inlined}${text}'` : undefined),
  foreground({ number, run: text, files, lastStatus, announce, prepared, mayTrap, setsExitTrap, descriptors }) {
    const before =
      (announce ? `__lmp_id ${number};` : '') +
      (descriptors.length === 0 ? '' : `__lmp_take ${descriptors.join(' ')};`) +
      (mayTrap ? `__lmp_io=(${files.stdout} ${files.stderr});` : '') +
      // Ours is not in front of that trap yet. Not stderr too: a trace would show the report.
      (setsExitTrap ? `\\exec 1<>${files.stdout};` : '') +
      afterStatus(lastStatus);
    const run = `${text} <${files.stdin} 1<>${files.stdout} 2<>${files.stderr}`;
    const report = mayTrap ? tell(number, '$__lmp_s $__lmp_t') : tell(number);
    const settle = setsExitTrap ? reportsAgain : '';
    const status = mayTrap ? `__lmp_s=$? __lmp_io=();${settle}${setErrorTrapAside}` : '__lmp_s=$?;';
    if (prepared === undefined) return `${before}${run}\n${status}${report}`;
    return `if \\. ${prepared};then ${before}${run};else __lmp_f ${number} "$?";fi\n` + `${status}${putBack}${report}`;
  },
  report: (number) => `__lmp_s=$?;${reportsAgain}${tell(number)}`,
  rearm: () => `${freeDot};__lmp_quiet __lmp_arm;__lmp_args=("$@")\n`,
  afterInterrupt: () => '\\command kill -URG $$\n',
  recall: (number) => `__lmp_q=$?;case \${__lmp_last-} in ${number});;*)__lmp_s=$__lmp_q;esac;`,
  remember: (number) => `__lmp_last=${number} LIMPET_COMMAND_ID=$__lmp_session:${number + 1}`,
  again: (question) => `__lmp_again ${question}\n`,
  background({ number, files, prepared, lastStatus }) {
    // The trap reports also when "set -e" ends the subshell. A subshell in the background would not expand aliases.
    // While the shell traces, only the command itself is given its stderr, or the trace would show the rest. Otherwise all
    // is: where "set -e" ends the command, bash leaves its EXIT trap what the group has.
    const text = `${afterStatus(lastStatus)}\\. ${files.text} 2<>${files.stderr}`;
    const run = prepared === undefined ? text : `if \\. ${prepared};then ${text};else __lmp_n ${number} "$?";fi`;
    return (
      `__lmp_bg=${number};( case $- in *x*)__lmp_q=/dev/null;;*)__lmp_q=${files.stderr};esac;${trapExit(number)}__lmp_v=$BASHPID;` +
      `( { \\shopt -s expand_aliases;__lmp_id ${number};__lmp_p ${number} "$__lmp_v";${run};} 2<>"$__lmp_q" ) ` +
      `<${files.stdin} 1<>${files.stdout} 2<>${files.stderr} ) & \\disown\n`
    );
  },
  snapshot: (upTo) => `__lmp_snap ${upTo} "$@"\n`,
  fewestDescriptors: 0,
  statusesWithoutDescriptors: [],
  // What opens nothing itself still reports: its stdout is the control FIFO already.
  canOpen: (question) =>
    `${freeDot};if \\. /dev/null </dev/null 1<>/dev/null 2<>/dev/null;then __lmp_q=0;else __lmp_q=1;fi;\\printf '\\1=O\\0%s\\0%s\\0\\0' "$__lmp_q" ${question}\n`,
};
