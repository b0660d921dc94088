import { LookUpRefused, NameNotResolved } from './look-up-name.ts';

/** Bounds of one account's look-ups. */
export interface LookUpLimits {
  /** Look-ups of the account that run side by side; others wait for them. */
  readonly atOnce: number;
  /** Failed look-ups in a minute, after which the account's unknown names are looked up one at a time. */
  readonly failuresPerMinute: number;
  /** Failed look-ups of one endpoint in a minute, after which the next ones fail without being asked. */
  readonly endpointFailuresPerMinute: number;
  /** Look-ups of the account that wait for their turn; further ones are refused. */
  readonly waiting: number;
  /** How long one waits for its turn before it is refused. */
  readonly waitMs: number;
}

interface Waiting {
  readonly isTrusted: boolean;
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** The look-ups that one account may cause: what fails often is asked less. */
export class LookUpBudget {
  readonly #limits: LookUpLimits;
  readonly #waiting: Waiting[] = [];
  #failures = new Map<string, number>();
  #failed = 0;
  #minuteBeganMs = 0;
  #running = 0;

  constructor(limits: LookUpLimits) {
    this.#limits = limits;
  }

  /**
   * Runs a look-up in its turn; rejects with `LookUpRefused` if its turn does not come in time. A name that was found before is trusted: the account's other names
   * do not slow it down.
   */
  async run<Answer>(webhookId: string, isTrusted: boolean, lookUp: () => Promise<Answer>): Promise<Answer> {
    this.#beginMinute();
    if ((this.#failures.get(webhookId) ?? 0) >= this.#limits.endpointFailuresPerMinute) {
      throw new NameNotResolved('too many failed look-ups');
    }
    if (this.#mayBegin(isTrusted)) this.#running += 1;
    else await this.#wait(isTrusted);
    try {
      return await lookUp();
    } catch (error) {
      this.#beginMinute();
      this.#failed += 1;
      this.#failures.set(webhookId, (this.#failures.get(webhookId) ?? 0) + 1);
      throw error;
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #mayBegin(isTrusted: boolean): boolean {
    const { atOnce, failuresPerMinute } = this.#limits;
    return this.#running < (isTrusted || this.#failed < failuresPerMinute ? atOnce : 1);
  }

  // Settles when the look-up runs.
  #wait(isTrusted: boolean): Promise<void> {
    const { waiting: most, waitMs } = this.#limits;
    if (this.#waiting.length >= most) {
      const untrusted = isTrusted ? this.#waiting.findLast((one) => !one.isTrusted) : undefined;
      if (untrusted === undefined) return Promise.reject(new LookUpRefused('too many look-ups'));
      untrusted.refuse();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiting.refuse(), waitMs).unref();
      const waiting: Waiting = {
        isTrusted,
        begin: () => {
          clearTimeout(timer);
          resolve();
        },
        refuse: () => {
          clearTimeout(timer);
          this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
          reject(new LookUpRefused('too many look-ups'));
        },
      };
      this.#waiting.push(waiting);
    });
  }

  #next(): void {
    this.#waiting.sort((one, other) => Number(other.isTrusted) - Number(one.isTrusted));
    for (
      let first = this.#waiting[0];
      first !== undefined && this.#mayBegin(first.isTrusted);
      first = this.#waiting[0]
    ) {
      this.#waiting.shift();
      this.#running += 1;
      first.begin();
    }
  }

  #beginMinute(): void {
    const nowMs = performance.now();
    if (nowMs - this.#minuteBeganMs < 60_000) return;
    this.#minuteBeganMs = nowMs;
    this.#failed = 0;
    this.#failures = new Map();
  }
}
