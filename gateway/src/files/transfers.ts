import { Failure } from '@eligo/failures';

/** A transfer takes up to 4 MiB: a part of 1 MiB, its chunks until they are joined, and copies in the sockets of client and database. 16 stay within 64 MiB. */
const mostAtOnce = 16;
/** So that four accounts can transfer whatever a fifth does. */
const mostOfAccount = 4;
/** Ten megabytes cost Postgres and this process 0.1 s of a processor. An account takes no more than a tenth of one for long. */
const bytesPerMs = 10_000;
/** Four of the largest files at once, which is evidence for a dispute. */
const burstMs = 4_000;
/** Accounts that may be kept before those that owe nothing are looked for. */
const accountsKept = 1_000;

/** A file on its way. */
export interface Transfer {
  /** Counts bytes that were stored or read. */
  moved(bytes: number): void;
  end(): void;
}

interface OfAccount {
  running: number;
  /** When its rate will have made up for what it has moved. */
  caughtUpAt: number;
}

/**
 * The uploads and downloads of this process. Their number bounds the memory that they take, and the bytes of an account what they cost others: beyond the burst
 * it begins no other one until its rate has caught up.
 */
export class Transfers {
  readonly #accounts = new Map<string, OfAccount>();
  readonly #now: () => number;
  #running = 0;
  #pruneAt = accountsKept;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts one more until it ends. Throws `too_many_file_transfers`. */
  begin(accountId: string): Transfer {
    const now = this.#now();
    const account = this.#accounts.get(accountId) ?? { running: 0, caughtUpAt: now };
    const overMs = account.caughtUpAt - now - burstMs;
    if (account.running >= mostOfAccount || this.#running >= mostAtOnce || overMs > 0) {
      throw new Failure('too_many_file_transfers', { retryAfterSeconds: Math.max(1, Math.ceil(overMs / 1_000)) });
    }
    this.#running += 1;
    account.running += 1;
    this.#accounts.set(accountId, account);
    if (this.#accounts.size > this.#pruneAt) this.#prune(now);
    let ended = false;
    return {
      moved: (bytes) => {
        account.caughtUpAt = Math.max(account.caughtUpAt, this.#now()) + bytes / bytesPerMs;
      },
      end: () => {
        if (ended) return;
        ended = true;
        this.#running -= 1;
        account.running -= 1;
      },
    };
  }

  // Looking only when there are twice as many again keeps the work of one transfer the same however many accounts there are.
  #prune(now: number): void {
    for (const [id, { running, caughtUpAt }] of this.#accounts) {
      if (running === 0 && caughtUpAt <= now) this.#accounts.delete(id);
    }
    this.#pruneAt = Math.max(accountsKept, this.#accounts.size * 2);
  }
}
