import { nameOf, type TurnCaller } from './turn-caller.ts';

/** What tells whether the process has no time to spare, and a clock that never goes back; tests give their own. */
export interface NeighborsOptions {
  readonly isBusy: () => boolean;
  readonly now?: () => number;
  /** How much is worked in each millisecond: the part of the time in which the process works, and what others work for it; 1 unless given. */
  readonly utilization?: () => number;
}

/**
 * Which accounts have asked for something lately, or wait for an answer. Only where several share a process that has no time to spare does one have to wait for its turn: alone,
 * or where there is time for all, nobody waits.
 */
export class Neighbors {
  readonly #isBusy: () => boolean;
  readonly now: () => number;
  readonly utilization: () => number;
  readonly #seenAt = new Map<string, number>();
  readonly #liveSeenAt = new Map<string, number>();
  readonly #present = new Map<string, number>();
  readonly #livePresent = new Map<string, number>();
  readonly #atLimitAt = new Map<string, number>();

  constructor({ isBusy, now = () => performance.now(), utilization = () => 1 }: NeighborsOptions) {
    this.#isBusy = isBusy;
    this.now = now;
    this.utilization = utilization;
  }

  /** What is remembered of accounts. */
  get size(): number {
    return (
      this.#seenAt.size + this.#liveSeenAt.size + this.#present.size + this.#livePresent.size + this.#atLimitAt.size
    );
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

  /** A request of the account arrived. It counts as asking for as long as the request lasts, because a process that is short of time makes requests slow. */
  arrived(caller: TurnCaller): void {
    this.saw(caller);
    for (const counts of this.#countsOf(caller)) counts.set(caller.accountId, (counts.get(caller.accountId) ?? 0) + 1);
  }

  /** A request that arrived is over. */
  left(caller: TurnCaller): void {
    this.saw(caller);
    for (const counts of this.#countsOf(caller)) {
      const others = (counts.get(caller.accountId) ?? 1) - 1;
      if (others === 0) counts.delete(caller.accountId);
      else counts.set(caller.accountId, others);
    }
  }

  /** Does work that the account waits for. */
  async during<Done>(caller: TurnCaller, work: () => Promise<Done>): Promise<Done> {
    this.arrived(caller);
    try {
      return await work();
    } finally {
      this.left(caller);
    }
  }

  #countsOf({ testMode }: TurnCaller): Map<string, number>[] {
    return testMode ? [this.#present] : [this.#present, this.#livePresent];
  }

  /** Notes that the account asks for more than it may. */
  noteLimit(caller: TurnCaller): void {
    const nowMs = this.now();
    forget(this.#atLimitAt, nowMs - atLimitMs);
    note(this.#atLimitAt, nameOf(caller), nowMs);
  }

  /** Whether a limit refused a request of the account in the last two seconds. */
  isAtLimit(caller: TurnCaller): boolean {
    const atLimitAt = this.#atLimitAt.get(nameOf(caller));
    return atLimitAt !== undefined && atLimitAt > this.now() - atLimitMs;
  }

  /** Whether time that the account takes is missing to another one. */
  areShort(accountId: string): boolean {
    return this.#isBusy() && (isOther(this.#present, accountId) || this.#sawOther(this.#seenAt, accountId));
  }

  /** Whether time is missing to any of several accounts. */
  areAnyShort(): boolean {
    forget(this.#seenAt, this.now() - latelyMs);
    return new Set([...this.#seenAt.keys(), ...this.#present.keys()]).size > 1 && this.#isBusy();
  }

  /** The other accounts that wait for an answer now, without those in test mode where this one is in live mode. */
  *othersOf({ accountId, testMode }: TurnCaller): Iterable<string> {
    const present = testMode ? this.#present : this.#livePresent;
    for (const other of present.keys()) if (other !== accountId) yield other;
  }

  /** Whether the account takes a smaller share: it asks for more than it may, or it is in test mode and another one in live mode. */
  yields(caller: TurnCaller): boolean {
    if (this.isAtLimit(caller)) return true;
    if (!caller.testMode) return false;
    return isOther(this.#livePresent, caller.accountId) || this.#sawOther(this.#liveSeenAt, caller.accountId);
  }

  #sawOther(times: Map<string, number>, accountId: string): boolean {
    forget(times, this.now() - latelyMs);
    return isOther(times, accountId);
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

function isOther(accounts: ReadonlyMap<string, number>, accountId: string): boolean {
  return accounts.size > 1 || (accounts.size === 1 && !accounts.has(accountId));
}

const latelyMs = 1_000;
/** Longer than the second after which a refused request may come again. */
const atLimitMs = 2_000;
