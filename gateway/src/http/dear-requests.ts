import { Failure } from '@eligo/failures';

/** Bounds of dear requests. */
export interface DearLimits {
  /** Bodies up to this size are not held back. */
  readonly freeBytes: number;
  /** Dear requests at work over all accounts; of one account, one. */
  readonly atOnce: number;
  /** Dear requests of one account that wait. */
  readonly waitingOfAccount: number;
  readonly longestWaitMs: number;
}

/** Who asks. */
export interface DearCaller {
  readonly accountId: string;
  readonly testMode: boolean;
}

interface Waiting {
  readonly begin: () => void;
}

/**
 * Requests whose work is large: a cart of a hundred lines and five hundred coupons is 0.2 s of CPU, and a PDF of a hundred lines is 0.04 s, where a confirm is
 * a few milliseconds. An account has one of them at work, and accounts take turns, live mode before test mode, so that what one account may ask for
 * within its rate limit leaves the processor to the others.
 */
export class DearRequests {
  readonly #limits: DearLimits;
  readonly #atWork = new Set<string>();
  readonly #waiting = { live: new Map<string, Waiting[]>(), test: new Map<string, Waiting[]>() };

  constructor(limits: Partial<DearLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Waits for the turn of a request with a body of this size. Answers what ends it; undefined for a small one. */
  enter(caller: DearCaller, bytes: number): (() => void) | undefined | Promise<() => void> {
    return bytes <= this.#limits.freeBytes ? undefined : this.#enter(caller);
  }

  /** Does work that is dear without a body, such as a PDF, when it is the caller's turn. */
  async run<Done>(caller: DearCaller, work: () => Promise<Done>): Promise<Done> {
    const leave = await this.#enter(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #enter(caller: DearCaller): (() => void) | Promise<() => void> {
    const { accountId } = caller;
    const leave = () => this.#leave(accountId);
    if (this.#mayBegin(accountId)) {
      this.#atWork.add(accountId);
      return leave;
    }
    return this.#wait(caller).then(() => leave);
  }

  #mayBegin(accountId: string): boolean {
    return this.#atWork.size < this.#limits.atOnce && !this.#atWork.has(accountId);
  }

  #wait({ accountId, testMode }: DearCaller): Promise<void> {
    const line = testMode ? this.#waiting.test : this.#waiting.live;
    const own = line.get(accountId) ?? [];
    if (own.length >= this.#limits.waitingOfAccount) throw new Failure('rate_limited', { retryAfterSeconds: 1 });
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        begin: () => {
          clearTimeout(late);
          resolve();
        },
      };
      const late = setTimeout(() => {
        own.splice(own.indexOf(waiting), 1);
        if (own.length === 0) line.delete(accountId);
        reject(new Failure('service_unavailable', { retryAfterSeconds: 1 }));
      }, this.#limits.longestWaitMs);
      own.push(waiting);
      line.set(accountId, own);
    });
  }

  #leave(accountId: string): void {
    this.#atWork.delete(accountId);
    for (const line of [this.#waiting.live, this.#waiting.test]) {
      for (const [next, own] of line) {
        if (!this.#mayBegin(next)) continue;
        const first = own.shift();
        // An account that had its turn goes last.
        line.delete(next);
        if (own.length > 0) line.set(next, own);
        if (first === undefined) continue;
        this.#atWork.add(next);
        first.begin();
      }
    }
  }
}

// A hundred lines by price are 6 kB.
const defaultLimits: DearLimits = { freeBytes: 8_192, atOnce: 4, waitingOfAccount: 8, longestWaitMs: 4_000 };
