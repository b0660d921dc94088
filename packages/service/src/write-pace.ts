import type { Progress } from '@eligo/events';
import { Failure } from '@eligo/failures';

/** What a pace is measured with; tests give a clock and looks of their own. */
export interface WritePaceOptions {
  /** Looks how far the events are behind. Rejects when that cannot be found out. */
  readonly look: () => Promise<Progress>;
  /** Called for each write that was held back, with whether it was admitted in the end. */
  readonly onHeldBack?: (isAdmitted: boolean) => void;
  readonly now?: () => number;
}

/**
 * Holds new writes back while the events of earlier ones fall behind, so that the backlog does not grow. While events keep up it costs a write one
 * addition. When they are more than 400 ms behind and falling further, writes are let in at a pace: a little below the pace at which they came, less
 * with each look, until the backlog shrinks; then a little faster with each look. Accounts take turns, and other writes wait for at most a second;
 * what would wait longer is refused with 503 at once. The pace never falls below twenty a second, and a look that fails, or finds that nothing
 * moves, lets everything in: a bus that is away stops no payment.
 */
export class WritePace {
  readonly #options: WritePaceOptions;
  readonly #now: () => number;
  readonly #waiting = new Map<string, Waiting[]>();
  #perSecond = Number.POSITIVE_INFINITY;
  #behindMs = 0;
  #admitted = 0;
  #lookedAt: number;
  #count = 0;
  #nextTurnAt = 0;
  #look: NodeJS.Timeout | undefined;
  #turn: NodeJS.Timeout | undefined;

  constructor(options: WritePaceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#lookedAt = this.#now();
  }

  /** How far events were behind at the last look, and how many writes a second are let in. */
  stats(): { behindMs: number; perSecond: number; waiting: number } {
    return { behindMs: this.#behindMs, perSecond: this.#perSecond, waiting: this.#count };
  }

  /** Lets a write of the account in: undefined when it need not wait. Rejects with `service_unavailable` when it would wait too long. */
  admit(accountId: string): Promise<void> | undefined {
    this.#lookSoon();
    if (this.#perSecond === Number.POSITIVE_INFINITY) {
      this.#admitted += 1;
      return undefined;
    }
    const own = this.#waiting.get(accountId) ?? [];
    // Each account that waits has a turn before this one's next.
    const turns = Math.min((own.length + 1) * Math.max(1, this.#waiting.size), this.#count + 1);
    const waitMs = (turns * 1_000) / this.#perSecond;
    if (waitMs > longestWaitMs) {
      this.#options.onHeldBack?.(false);
      return Promise.reject(refused(waitMs));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    own.push({ since: this.#now(), resolve, reject });
    this.#waiting.set(accountId, own);
    this.#count += 1;
    this.#turnSoon();
    return promise;
  }

  /** Lets everybody in who waits, and looks no more. */
  stop(): void {
    clearTimeout(this.#look);
    clearTimeout(this.#turn);
    this.#perSecond = Number.POSITIVE_INFINITY;
    this.#letIn();
  }

  #lookSoon(): void {
    this.#look ??= setTimeout(() => void this.#lookAgain(), lookMs).unref();
  }

  async #lookAgain(): Promise<void> {
    // A few writes put nothing behind, and a look costs as much as one of their statements.
    if (this.#admitted >= fewestWrites || this.#behindMs > 0 || this.#count > 0) {
      const progress = await this.#options.look().catch(unknown);
      const now = this.#now();
      const admittedPerSecond = (this.#admitted * 1_000) / Math.max(1, now - this.#lookedAt);
      const before = this.#behindMs;
      this.#behindMs = progress === undefined ? 0 : smoothed(before, progress.behindMs);
      this.#perSecond = nextPace(
        this.#perSecond,
        admittedPerSecond,
        progress && { behindMs: this.#behindMs, isGrowing: progress.isGrowing && this.#behindMs > before },
      );
    }
    this.#admitted = 0;
    this.#lookedAt = this.#now();
    this.#look = undefined;
    this.#letIn();
    if (this.#behindMs > 0 || this.#count > 0 || this.#perSecond !== Number.POSITIVE_INFINITY) this.#lookSoon();
  }

  #turnSoon(): void {
    if (this.#turn !== undefined) return;
    this.#turn = setTimeout(
      () => {
        this.#turn = undefined;
        this.#letIn();
      },
      Math.max(1, this.#nextTurnAt - this.#now()),
    );
  }

  #letIn(): void {
    const now = this.#now();
    this.#refuseLate(now);
    for (const [accountId, own] of this.#waiting) {
      if (this.#perSecond !== Number.POSITIVE_INFINITY) {
        if (this.#nextTurnAt > now) break;
        // Turns that a busy process has missed are made up for, but no more than a few.
        this.#nextTurnAt = Math.max(this.#nextTurnAt, now - mostMissedMs) + 1_000 / this.#perSecond;
      }
      const next = own.shift();
      this.#waiting.delete(accountId);
      // An account that had its turn goes last.
      if (own.length > 0) this.#waiting.set(accountId, own);
      if (next === undefined) continue;
      this.#count -= 1;
      this.#admitted += 1;
      this.#options.onHeldBack?.(true);
      next.resolve();
    }
    if (this.#count > 0) this.#turnSoon();
  }

  // The pace has slowed since they were admitted to wait.
  #refuseLate(now: number): void {
    for (const [accountId, own] of this.#waiting) {
      const late = own.filter(({ since }) => now - since > longestWaitMs);
      for (const { since, reject } of late) {
        this.#options.onHeldBack?.(false);
        reject(refused(now - since));
      }
      this.#count -= late.length;
      own.splice(0, late.length);
      if (own.length === 0) this.#waiting.delete(accountId);
    }
  }
}

/** The pace after a look; infinite when nothing is held back. Undefined progress: it could not be found out. */
export function nextPace(perSecond: number, admittedPerSecond: number, progress: Progress | undefined): number {
  if (progress === undefined) return Number.POSITIVE_INFINITY;
  const isHeldBack = perSecond !== Number.POSITIVE_INFINITY;
  if (progress.behindMs > targetMs) {
    if (!progress.isGrowing) return perSecond;
    const share = progress.behindMs > 2 * targetMs ? 0.8 : 0.93;
    return Math.max(slowestPerSecond, Math.min(perSecond, admittedPerSecond) * share);
  }
  if (!isHeldBack) return perSecond;
  const faster = perSecond * 1.1 + 1;
  // Arrivals are no longer that frequent.
  return faster > 3 * admittedPerSecond + slowestPerSecond ? Number.POSITIVE_INFINITY : faster;
}

interface Waiting {
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

// Events are published and given in batches: the wait of the oldest rises during each and falls with its end.
function smoothed(before: number, seen: number): number {
  const now = before + 0.3 * (seen - before);
  return now < 1 ? 0 : now;
}

function refused(waitMs: number): Failure {
  return new Failure('service_unavailable', { retryAfterSeconds: Math.min(5, Math.ceil(waitMs / 1_000)) });
}

function unknown(): undefined {
  return undefined;
}

// Less than half of the second within which a webhook is to arrive: planning and sending come afterwards.
const targetMs = 400;
const lookMs = 200;
// Fifty writes a second.
const fewestWrites = 10;
// Of the nine seconds that a charge may take, the queue for a card and the processor need eight.
const longestWaitMs = 1_000;
// An account that sends no more than this at once waits for less than the longest wait, and is never refused.
const slowestPerSecond = 20;
const mostMissedMs = 50;
