/** One command in one of the ways to run it. */
export interface Run {
  way: string;
  command: string;
  text: string;
  /** Milliseconds since 1970. */
  from: number;
  to: number;
  /** It did not end in time and was given up. */
  hung: boolean;
}

/** The way that is none: calls of a tool that does next to nothing. */
export const editorAlone = 'the editor alone';

/** Run many times, for its time. */
export const timed = 'echo a';

/** Run once each, for what is told of them. */
export const commands = [
  '(exit 7)',
  'echo out; echo err >&2',
  'printf nonl',
  'cat',
  'exit 3',
  'echo "',
  'sleep 100 &',
  'seq 1 700000',
];
