import { type FSWatcher, statSync, watch } from 'node:fs';

const lookMs = 2000;

/**
 * Says when something in a directory has come or gone, or the directory itself. To watch alone would miss that one above it
 * was moved, and cannot always be had, so it also says so every now and then.
 */
export class DirectoryWatch {
  private watcher: FSWatcher | undefined;
  private inode: number | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly path: string,
    private readonly onChange: (name: string | null) => void,
  ) {
    this.renew();
    this.timer = setInterval(() => onChange(null), lookMs).unref();
  }

  /** Whether it is still the same directory that is watched. */
  get isCurrent(): boolean {
    return this.inode !== undefined && this.inode === inodeOf(this.path);
  }

  renew(): void {
    this.watcher?.close();
    this.inode = inodeOf(this.path);
    try {
      this.watcher = watch(this.path, { persistent: false }, (_, name) => this.onChange(name));
      this.watcher.on('error', () => {});
    } catch {
      // The system has no watches left, or the directory is gone again.
      this.watcher = undefined;
    }
  }

  dispose(): void {
    clearInterval(this.timer);
    this.watcher?.close();
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
