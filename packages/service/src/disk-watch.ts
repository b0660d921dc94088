import { statfs } from 'node:fs/promises';
import { Failure } from '@eligo/failures';

/** Which disk is watched, and how much of it stays free. */
export interface DiskWatchOptions {
  /** A folder on the disk of the database, or of NATS. */
  readonly folder: string;
  readonly leastFreeBytes: number;
  /** Free bytes of the folder's disk; tests give their own. */
  readonly look?: (folder: string) => Promise<number>;
  readonly everyMs?: number;
  /** Told once that the folder cannot be looked at any more: new writes then go on whatever its disk has. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

/** Looks at a disk, so that new writes stop before it is full: a Postgres without disk stops for reads as well, and for writes that are half done. */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #firstLook: Promise<void>;
  #freeBytes = Number.POSITIVE_INFINITY;
  #isFull = false;
  #isLost = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.lookNow(), options.everyMs ?? defaultEveryMs);
    this.#timer.unref();
    this.#firstLook = this.lookNow();
  }

  /** Free bytes at the last look. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Rejects while new writes are refused; for readiness. */
  async check(): Promise<void> {
    await this.#firstLook;
    if (this.#isFull) throw new Error('The disk is nearly full');
  }

  /** Throws `service_unavailable` while the disk is nearly full. */
  assertRoom(): void {
    if (this.#isFull) throw new Failure('service_unavailable', { retryAfterSeconds: retryAfterFullSeconds });
  }

  async lookNow(): Promise<void> {
    const { folder, leastFreeBytes, look = freeBytesOf, onLost } = this.#options;
    try {
      this.#freeBytes = await look(folder);
      this.#isLost = false;
    } catch (error) {
      // A folder that cannot be looked at says nothing about its disk.
      this.#freeBytes = Number.POSITIVE_INFINITY;
      if (!this.#isLost) onLost?.(error);
      this.#isLost = true;
    }
    // A quarter more before writes are let in again, so that they do not come and go with each deleted file.
    this.#isFull = this.#freeBytes < leastFreeBytes * (this.#isFull ? 1.25 : 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

const defaultEveryMs = 2_000;
// An operator has to make room first.
const retryAfterFullSeconds = 30;

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
