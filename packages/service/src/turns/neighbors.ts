import { nameOf, type TurnCaller } from './turn-caller.ts';

/** What tells whether the process has no time to spare, and a clock that never goes back; tests give their own. */
export interface NeighborsOptions {
  readonly isBusy: () => boolean;
  readonly now?: () => number;
  /** The part of the time in which the process works; all of it unless given. */
  readonly utilization?: () => number;
}

/**
 * Which accounts have asked for something lately. Only where several share a process that has no time to spare does one have to wait for its turn: alone,
 * or where there is time for all, nobody waits.
 */
export class Neighbors {
  readonly #isBusy: () => boolean;
  readonly now: () => number;
  readonly utilization: () => number;
  readonly #seenAt = new Map<string, number>();
  readonly #liveSeenAt = new Map<string, number>();
  readonly #atLimitAt = new Map<string, number>();

  constructor({ isBusy, now = () => performance.now(), utilization = () => 1 }: NeighborsOptions) {
    this.#isBusy = isBusy;
    this.now = now;
    this.utilization = utilization;
  }

  /** What is remembered of accounts. */
  get size(): number {
    return this.#seenAt.size + this.#liveSeenAt.size + this.#atLimitAt.size;
  }

  /** The account asked for something. */
  saw({ accountId, testMode }: TurnCaller): void {
    const nowMs = this.now();
    // Here as well: in a process with time to spare nothing else forgets.
    for (const times of testMode ? [this.#seenAt] : [this.#seenAt, this.#liveSeenAt]) {
      forget(times, nowMs - latelyMs);
      note(times, accountId, nowMs);
    }
  }

  /** Notes that the account asks for more than it may. */
  noteLimit(caller: TurnCaller): void {
    const nowMs = this.now();
    forget(this.#atLimitAt, nowMs - atLimitMs);
    note(this.#atLimitAt, nameOf(caller), nowMs);
  }

  /** Whether time that the account takes is missing to another one. */
  areShort(accountId: string): boolean {
    return this.#isBusy() && hasOther(this.#seenAt, accountId, this.now());
  }

  /** Whether time is missing to any of several accounts. */
  areAnyShort(): boolean {
    forget(this.#seenAt, this.now() - latelyMs);
    return this.#seenAt.size > 1 && this.#isBusy();
  }

  /** Whether the account takes a smaller share: it asks for more than it may, or it is in test mode and another one in live mode. */
  yields(caller: TurnCaller): boolean {
    const nowMs = this.now();
    const atLimitAt = this.#atLimitAt.get(nameOf(caller));
    if (atLimitAt !== undefined && atLimitAt > nowMs - atLimitMs) return true;
    return caller.testMode && hasOther(this.#liveSeenAt, caller.accountId, nowMs);
  }
}

// What was noted last is at the end, so that what is old is at the beginning.
function note(times: Map<string, number>, name: string, nowMs: number): void {
  times.delete(name);
  times.set(name, nowMs);
}

function forget(times: Map<string, number>, untilMs: number): void {
  for (const [name, atMs] of times) {
    if (atMs > untilMs) return;
    times.delete(name);
  }
}

function hasOther(times: Map<string, number>, accountId: string, nowMs: number): boolean {
  forget(times, nowMs - latelyMs);
  return times.size > 1 || (times.size === 1 && !times.has(accountId));
}

const latelyMs = 1_000;
/** Longer than the second after which a refused request may come again. */
const atLimitMs = 2_000;
