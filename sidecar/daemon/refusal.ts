import { exitCodes } from '../../protocol/exit-codes';

/** A reason not to start: the process ends with this code and this sentence. */
export class Refusal extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
    this.name = 'Refusal';
  }

  static usage(message: string): Refusal {
    return new Refusal(exitCodes.usage, `${message} See --help.`);
  }

  static alreadyServed(path: string): Refusal {
    return new Refusal(
      exitCodes.alreadyRunning,
      `A sidecar is already listening on ${path}. Connect to it, or stop it first.`,
    );
  }

  static notASocket(path: string): Refusal {
    return new Refusal(
      exitCodes.refused,
      `${path} exists and is not a socket, so it was left alone. Remove it yourself or choose another path.`,
    );
  }

  static pathTooLong(path: string, limit: number): Refusal {
    return new Refusal(
      exitCodes.refused,
      `${path} is too long for a socket: with its temporary suffix it must not exceed ${limit} bytes. Choose a shorter path (LIMPET_RUNTIME_DIR).`,
    );
  }

  static unsafeDirectory(path: string): Refusal {
    return new Refusal(
      exitCodes.refused,
      `${path} can be changed by other users. Use a directory that belongs to you, with mode 0700.`,
    );
  }

  static notADirectory(path: string): Refusal {
    return new Refusal(
      exitCodes.refused,
      `${path} is not a directory of its own (a file or a symbolic link stands there). Remove it or set LIMPET_RUNTIME_DIR and LIMPET_STATE_DIR.`,
    );
  }

  static cannotMake(path: string, reason: string): Refusal {
    return new Refusal(
      exitCodes.refused,
      `${path} cannot be made (${reason}). Set LIMPET_RUNTIME_DIR and LIMPET_STATE_DIR to places you may write to.`,
    );
  }

  static cannotListen(address: string, reason: string): Refusal {
    return new Refusal(exitCodes.refused, `Cannot listen on ${address}: ${reason}.`);
  }
}
