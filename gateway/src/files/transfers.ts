import { Failure } from '@eligo/failures';

/** A transfer takes up to 4 MiB: a part of 1 MiB, its chunks until they are joined, and copies in the sockets of client and database. 16 stay within 64 MiB. */
const mostAtOnce = 16;
/** So that four accounts can transfer whatever a fifth does. */
const mostOfAccount = 4;

/** The uploads and downloads of this process, whose number bounds the memory that they take. */
export class Transfers {
  readonly #byAccount = new Map<string, number>();
  #running = 0;

  /** Counts one more until the answer is called. Throws `too_many_file_transfers`. */
  begin(accountId: string): () => void {
    const own = this.#byAccount.get(accountId) ?? 0;
    if (own >= mostOfAccount || this.#running >= mostAtOnce) {
      throw new Failure('too_many_file_transfers', { retryAfterSeconds: 1 });
    }
    this.#running += 1;
    this.#byAccount.set(accountId, own + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#running -= 1;
      const left = (this.#byAccount.get(accountId) ?? 1) - 1;
      if (left === 0) this.#byAccount.delete(accountId);
      else this.#byAccount.set(accountId, left);
    };
  }
}
