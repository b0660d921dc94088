import { Failure } from '@eligo/failures';
import { RateLimiter } from '../http/rate-limiter.ts';

/** A transfer takes up to 4 MiB: a part of 1 MiB, its chunks until they are joined, and copies in the sockets of client and database. 16 stay within 64 MiB. */
const mostAtOnce = 16;
/** So that four accounts can transfer whatever a fifth does. */
const mostOfAccount = 4;
/** Ten megabytes cost Postgres and this process 0.1 s of a processor. An account takes no more than a tenth of one for long; the burst is four of the largest files. */
const bytesPerSecond = 10_000_000;

/** A file on its way. */
export interface Transfer {
  /** Counts bytes that were stored or read. */
  moved(bytes: number): void;
  end(): void;
}

/**
 * The uploads and downloads of this process. Their number bounds the memory that they take, and the bytes of an account what they cost others: beyond the burst
 * it begins no other one until its rate has caught up.
 */
export class Transfers {
  readonly #byAccount = new Map<string, number>();
  readonly #bytes = new RateLimiter();
  readonly #now: () => number;
  #running = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts one more until it ends. Throws `too_many_file_transfers`. */
  begin(accountId: string): Transfer {
    const own = this.#byAccount.get(accountId) ?? 0;
    const overMs = this.#bytes.overMs(accountId, this.#now());
    if (own >= mostOfAccount || this.#running >= mostAtOnce || overMs > 0) {
      throw new Failure('too_many_file_transfers', { retryAfterSeconds: Math.max(1, Math.ceil(overMs / 1_000)) });
    }
    this.#running += 1;
    this.#byAccount.set(accountId, own + 1);
    let ended = false;
    return {
      moved: (bytes) => this.#bytes.add(accountId, bytesPerSecond, bytes, this.#now()),
      end: () => {
        if (ended) return;
        ended = true;
        this.#running -= 1;
        const left = (this.#byAccount.get(accountId) ?? 1) - 1;
        if (left === 0) this.#byAccount.delete(accountId);
        else this.#byAccount.set(accountId, left);
      },
    };
  }
}
