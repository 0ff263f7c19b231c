/** Moments at which a test can hold the engine, to have what is otherwise a race happen every time. */
export type Checkpoint =
  | 'shell-spawned'
  | 'shell-replaced'
  | 'session-ready'
  | 'command-noted'
  | 'command-sent'
  | 'background-sent'
  | 'record-read'
  | 'output-read'
  | 'output-logged'
  | 'input-ended'
  | 'interrupt-held'
  | 'publication-begun'
  | 'destroy-begun'
  | 'session-claimed';

type Hook = (point: Checkpoint) => void;

let hook: Hook | undefined;

/** Only tests call this. The hook is called synchronously, and the engine stands still until it returns. */
export function holdAt(wanted: Hook | undefined): void {
  hook = wanted;
}

export function reach(point: Checkpoint): void {
  hook?.(point);
}
