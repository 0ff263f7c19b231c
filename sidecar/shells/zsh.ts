import { preparation } from './bash';
import {
  afterStatus,
  freeDot,
  nowhere,
  outlived,
  printfProgram,
  putBack,
  quote,
  type ShellDialect,
  type ShellFiles,
} from './dialect';

/**
 * As in bash, with zsh's own words. A user's function called `builtin` would be taken for the builtin, so then the report
 * goes through a program instead: slower, and still right.
 */
const boot = ({ directory, control, snapshot, status }: ShellFiles, sessionId: string) => `
PS1= PS2= PROMPT_COMMAND=
unset HISTFILE
unsetopt zle monitor prompt_sp prompt_cr bang_hist check_jobs hup bg_nice notify
setopt interactive_comments
precmd_functions=() preexec_functions=()
(( \${+functions[precmd]} )) && unfunction precmd
(( \${+functions[preexec]} )) && unfunction preexec
typeset -gr __lmp=${quote(directory)} __lmp_home=$PWD
export LIMPET_COMMAND_ID=${sessionId}:0
# "setopt allexport" would export our variables to every program; arrays it cannot.
typeset -ga __lmp_s __lmp_c __lmp_last __lmp_bg __lmp_u __lmp_gone __lmp_restored __lmp_args

# With more exported than a program can be given, none can be run; then the builtin must do.
__lmp_o() { ${printfProgram} "$@" || builtin printf "$@"; }
# Redirected command by command: what a DEBUG trap prints in a redirected group would land among the records.
__lmp_w() {
  if (( \${+functions[builtin]} || ! \${+builtins[printf]} )); then
    ${printfProgram} '\\1=%s\\0%s\\0%s\\0%s\\0' "$@" 1<>${quote(control)}
  else
    builtin printf '\\1=%s\\0%s\\0%s\\0%s\\0' "$@" 1<>${quote(control)}
  fi
}
# The positional parameters come along, since a function that runs at exit does not see them. An interrupt that comes while zsh
# waits for a line makes it drop the next one; if that was a command's, it was not run.
__lmp_d() {
  local __lmp_s="$? $-"
  if [[ \${__lmp_c-} != $1 ]]; then
    __lmp_o '\\1=N\\0%s\\0\\0\\0' "$1" 1<>${quote(control)}
    return
  fi
  if (( \${+functions[builtin]} )); then
    ${printfProgram} '\\1=D\\0%s\\0%s\\0%s\\0' "$1" "$__lmp_s" "\${PWD-}" 1<>${quote(control)}
  else
    builtin printf '\\1=D\\0%s\\0%s\\0%s\\0' "$1" "$__lmp_s" "\${PWD-}" 1<>${quote(control)}
  fi
  __lmp_last=("$1:$__lmp_s") __lmp_args=("\${@:2}") LIMPET_COMMAND_ID=${sessionId}:$(( $1 + 1 ))
}
__lmp_again() { __lmp_w A "\${__lmp_last%%:*}:$1:\${__lmp_bg-0}:\${__lmp_u-}" "\${__lmp_last#*:}" "\${PWD-}"; }
__lmp_r() { return "$1"; }
__lmp_f() { __lmp_u=("$1.$2"); __lmp_w F "$1" "$2" ''; }
__lmp_n() { __lmp_o 'F %s %s\\n' "$1" "$2" >>|${quote(status)}; __lmp_f "$1" "$2"; return 125; }
__lmp_id() { typeset -gx LIMPET_COMMAND_ID=${sessionId}:$1; }
__lmp_p() { __lmp_o '\\1=P\\0%s\\0%s\\0%s\\0' "$1" "$2" "\${sysparams[pid]}" 1<>${quote(control)}; }
__lmp_e() {
  builtin trap '' HUP INT QUIT TERM
  __lmp_o '%s %s\\n' "$1" "$2" >>|${quote(status)}
  __lmp_o '\\1=E\\0%s\\0%s\\0\\0' "$1" "$2" 1<>${quote(control)}
}
__lmp_b() {
  LIMPET_COMMAND_ID=${sessionId}:$1
  __lmp_w B "\${__lmp_restored-}\${__lmp_gone-}" "$$" "\${PWD-}"
}
__lmp_keep() {
  local __lmp_v
  __lmp_undo=
  for __lmp_v in "$@"; do
    if (( \${(P)+__lmp_v} )); then
      __lmp_undo+="$(builtin typeset -p "$__lmp_v")"$'\\n'
      [[ \${(Pt)__lmp_v} == *export* ]] || __lmp_undo+="builtin typeset +x $__lmp_v"$'\\n'
    else
      __lmp_undo+="builtin unset $__lmp_v"$'\\n'
    fi
  done
}
# By way of the directory before: zsh's "cd -" goes where it was itself, and not to $OLDPWD.
__lmp_cd() {
  __lmp_gone=
  builtin cd -q -- "\${OLDPWD-}"
  builtin cd -q -- "$1" && return
  __lmp_gone=' gone'
  builtin cd -q -- "$__lmp_home" || builtin cd -q /
  return 1
}
__lmp_old() { (( \${+OLDPWD} )) && __lmp_v="OLDPWD=\${(qq)OLDPWD}" || __lmp_v='builtin unset OLDPWD'; }
__lmp_keep_cwd() {
  local __lmp_v
  [[ \${parameters[OLDPWD]-} != *readonly* ]] || return
  __lmp_old
  __lmp_undo+=$__lmp_v$'\\n'
  if [[ \${PWD-} -ef . ]]; then
    __lmp_undo+="__lmp_cd \${(qq)PWD}||:"
  else
    builtin sysopen -o cloexec -u __lmp_fd .
    __lmp_undo+="if __lmp_cd /proc/$$/fd/$__lmp_fd;then exec {__lmp_fd}<&-;"
    (( \${+PWD} )) && __lmp_undo+="PWD=\${(qq)PWD};fi" || __lmp_undo+='builtin unset PWD;fi'
  fi
  __lmp_undo+=$'\\n'$__lmp_v$'\\n'
}
# Special and read-only parameters are left out: assigning to one would abort the restoring.
__lmp_snap() {
  # Nothing below would be what it seems.
  if (( \${+functions[builtin]} )); then
    __lmp_w T 1 '' ''
    return
  fi
  # What the user has disabled would be missing below without a word.
  if (( \${#dis_builtins[@]} )); then
    if (( ZSH_SUBSHELL )); then
      __lmp_w T 1 '' ''
    else
      ( builtin enable "\${(@k)dis_builtins[@]}"; __lmp_snap "$@" )
    fi
    return
  fi
  # As commands: the list that "setopt" prints is another one after "emulate ksh".
  builtin set +o >|${quote(`${snapshot}.options`)}
  # A trap on DEBUG would run for each line of this, and what it prints be taken for what is saved. It is back at the end.
  builtin emulate -L zsh
  builtin trap - DEBUG
  local __lmp_k __lmp_t __lmp_v __lmp_f __lmp_n=$1
  builtin shift
  __lmp_old
  __lmp_v+=$'\\n'\${PWD+"__lmp_cd \${(qq)PWD}||:"}$'\\n'$__lmp_v$'\\n'\${__lmp_undo-}
  {
    for __lmp_k __lmp_t in "\${(@kv)parameters}"; do
      [[ $__lmp_k == (__lmp*|argv|_|LIMPET_COMMAND_ID|PWD|OLDPWD) || $__lmp_t == *(local|hide)* ]] && continue
      [[ $__lmp_t == *readonly* && $__lmp_t == *special* ]] && continue
      [[ $__lmp_t == *special* && $__lmp_t != *export* && $__lmp_k != (IFS|fpath|cdpath|WORDCHARS) ]] && continue
      if [[ $__lmp_t == (array|association)* && $__lmp_t != *-(tied|special|left|right|lower|upper)* ]] &&
        (( \${#\${(@P)__lmp_k}} > 1000 )); then
        # In pieces: zsh takes a time that grows with the square to read one long list.
        __lmp_f=-a
        [[ $__lmp_t == association* ]] && __lmp_f=-A
        [[ $__lmp_t == *-unique* ]] && __lmp_f+=U
        [[ $__lmp_t == *-export* ]] && __lmp_f+=x
        builtin print -r -- "typeset $__lmp_f $__lmp_k=()"
        if [[ $__lmp_f == -A* ]]; then
          builtin printf "$__lmp_k+=(\${(l:1500::%s :)})\\n" "\${(@qqkvP)__lmp_k}"
        else
          builtin printf "$__lmp_k+=(\${(l:1500::%s :)})\\n" "\${(@qqP)__lmp_k}"
        fi
        [[ $__lmp_t == *-readonly* ]] && builtin print -r -- "typeset -r $__lmp_k"
        continue
      fi
      builtin typeset -p -- $__lmp_k
    done
    for __lmp_k in "\${(@k)functions}"; do
      [[ $__lmp_k == __lmp* ]] || builtin functions -- $__lmp_k
    done
    builtin print -n 'umask '
    builtin umask
    builtin print -r -- "set -- \${(qq)@}"
    builtin print -r -- "$__lmp_v"
    while builtin read -r __lmp_k; do
      [[ $__lmp_k == *o\\ (|no)(interactive|shinstdin|singlecommand|login|privileged|restricted|zle|monitor|rcs|xtrace) ]] ||
        builtin print -r -- "$__lmp_k"
    done <${quote(`${snapshot}.options`)}
    # Last, because one may be for a word that is needed here.
    builtin alias -L
    builtin alias -sL
    builtin print -r -- '__lmp_restored=(all)'
  } >|${quote(`${snapshot}.new`)} 2>${nowhere}
  {
    builtin typeset -x -p
    builtin print -r -- "$__lmp_v"
    builtin print -r -- '__lmp_restored=(environment)'
  } >|${quote(`${snapshot}.environment.new`)} 2>${nowhere}
  __lmp_w T "$?" "$__lmp_n" ''
}
# Subshells run it too, and would save what is theirs as the session's; one that returned a failure would run a trap on ERR. Tracing is switched off by an expansion, which comes
# before the trace: a redirection would not keep any of it from the user's stderr.
__lmp_x() {
  local __lmp_s=$? __lmp_k="\${options[xtrace]::=off}"
  {
    (( ZSH_SUBSHELL == 0 )) || return 0
    __lmp_snap '' "\${__lmp_args[@]}"
    __lmp_o 'X %s %s\\n' "$$" "$__lmp_s" >>|${quote(status)}
  } >${nowhere} 2>&1
}
zmodload zsh/system zsh/parameter
zshexit_functions+=(__lmp_x)
`;

/** Read by us and not by zsh itself, which would let them read the lines that are meant for it. */
const userProfile = `
for __lmp_rc in "\${ZDOTDIR:-$HOME}/.zshenv" /etc/zsh/zshrc /etc/zshrc "\${ZDOTDIR:-$HOME}/.zshrc"; do
  [[ -r $__lmp_rc ]] && . "$__lmp_rc"
done
unset __lmp_rc
`;

/** To assign to one of these makes the shell itself another user. */
const becomesAnother = /^(E?[UG]ID|USERNAME)$/;

const traces = (flags: string) => flags.includes('x');

export const zsh: ShellDialect = {
  name: 'zsh',
  abandonSignal: 'SIGINT',
  endsLineOnInterrupt: true,
  arguments: () => ['-f', '-i'],
  boot: (files, sessionId, profile) => (profile === 'user' ? userProfile : '') + boot(files, sessionId),
  ready: (next, restoreFile, bootFile) =>
    `\\. ${quote(bootFile)} </dev/null\n` +
    (restoreFile === undefined ? '' : `\\. ${quote(restoreFile)} </dev/null >/dev/null 2>&1\n`) +
    `__lmp_b ${next}\n\\exec >${nowhere} 2>&1\n`,
  // Tracing is off while the wrapper redirects (its output would go where stderr was before), so the text switches it on,
  // and puts $? back where the trace of that does not show.
  commandText: (command, { flags }) =>
    `${traces(flags) ? '__lmp_s=$?;{ \\setopt xtrace;__lmp_r "$__lmp_s"&&:;} >/dev/null 2>&1;' : ''}${command}\n`,
  preparation: (overrides) => preparation(overrides, 'builtin cd -q --', 'builtin ', becomesAnother),
  // It reads its lines a byte at a time, so a file is as fast.
  inline: () => undefined,
  foreground({ number, run: text, files, lastStatus, announce, prepared, flags }) {
    const quiet = `${traces(flags) ? '\\unsetopt xtrace;' : ''}__lmp_c=(${number});`;
    const before = (announce ? `__lmp_id ${number};` : '') + afterStatus(lastStatus);
    const run = `${text} <${files.stdin} 1<>${files.stdout} 2<>${files.stderr}`;
    if (prepared === undefined) return `${quiet}${before}${run}\n${this.report(number)}`;
    return (
      `${quiet}if \\. ${prepared};then ${before}${run};else __lmp_f ${number} "$?";fi\n` +
      `__lmp_s=$?;${putBack}__lmp_r "$__lmp_s"&&:;${this.report(number)}`
    );
  },
  // Short, because zsh reads its lines a byte at a time.
  report: (number) => `__lmp_d ${number} "$@"\n`,
  rearm: () => `${freeDot}\n`,
  afterInterrupt: () => '',
  recall: (number) => `__lmp_q=$?;[[ \${__lmp_last-} == ${number}:* ]]&&__lmp_s=\${__lmp_last#*:}||__lmp_s=$__lmp_q;`,
  remember: (number) => `__lmp_last=("${number}:$__lmp_s") LIMPET_COMMAND_ID=\${LIMPET_COMMAND_ID%:*}:${number + 1}`,
  again: (question) => `__lmp_again ${question}\n`,
  background({ number, files, prepared, lastStatus }) {
    const text = `${afterStatus(lastStatus)}\\. ${files.text}`;
    const run = prepared === undefined ? text : `if \\. ${prepared};then ${text};else __lmp_n ${number} "$?";fi`;
    const report = `trap '__lmp_e ${number} "$?"' EXIT`;
    // A signal to what reports must not end it before the command: the status would be none.
    const stay = `trap : ${outlived}`;
    // With a DEBUG trap, even one that is taken away, zsh runs a subshell's EXIT trap only at an explicit "exit".
    // Only the shell itself has the lines as its standard input; by that it is told from what it left in the background.
    return (
      `\\unsetopt xtrace;__lmp_bg=(${number});( if (( \${+functions[trap]} ));then builtin ${stay};builtin ${report};else \\${stay};\\${report};fi;` +
      `__lmp_q=\${sysparams[pid]};( __lmp_id ${number};__lmp_p ${number} "$__lmp_q";${run} ) <${files.stdin} 1<>${files.stdout} 2<>${files.stderr};` +
      `__lmp_s=$?;if (( \${+functions[exit]} ));then builtin exit "$__lmp_s";else \\exit "$__lmp_s";fi ) </dev/null &!\n`
    );
  },
  snapshot: (upTo) => `__lmp_snap ${upTo} "$@"\n`,
  canOpen: () => undefined,
  // It keeps its own at the first free ones from 10 on, and a pipeline needs some more.
  fewestDescriptors: 16,
  // Where it could not put its streams back, and where it could not open the command's file.
  statusesWithoutDescriptors: [1, 127],
};
