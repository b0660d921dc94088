import { nameOf, type TurnCaller } from './turn-caller.ts';
import { WaitingAccounts } from './waiting-accounts.ts';

/** What tells whether the process has no time to spare, and a clock that never goes back; tests give their own. */
export interface NeighborsOptions {
  readonly isBusy: () => boolean;
  readonly now?: () => number;
  /** How much is worked in each millisecond: the part of the time in which the process works, and what others work for it; 1 unless given. */
  readonly utilization?: () => number;
  /** The part of the time that a process that is not busy has left until it is; none unless given. */
  readonly spare?: () => number;
}

/**
 * Which accounts have asked for something lately, or wait for an answer. Only where several share a process that has no time to spare does one have to wait for its turn: alone,
 * or where there is time for all, nobody waits.
 */
export class Neighbors {
  readonly #isBusy: () => boolean;
  readonly now: () => number;
  readonly utilization: () => number;
  readonly #spare: () => number;
  readonly #seenAt = new Map<string, number>();
  readonly #liveSeenAt = new Map<string, number>();
  readonly #present: WaitingAccounts;
  readonly #livePresent: WaitingAccounts;
  readonly #atLimitAt = new Map<string, number>();
  readonly #heldAt = new Map<string, number>();

  constructor({ isBusy, now = () => performance.now(), utilization = () => 1, spare = () => 0 }: NeighborsOptions) {
    this.#isBusy = isBusy;
    this.now = now;
    this.utilization = utilization;
    this.#spare = spare;
    this.#present = new WaitingAccounts(now);
    this.#livePresent = new WaitingAccounts(now);
  }

  /** What is remembered of accounts. */
  get size(): number {
    const times = [this.#seenAt, this.#liveSeenAt, this.#atLimitAt, this.#heldAt];
    return [...times, this.#present, this.#livePresent].reduce((sum, { size }) => sum + size, 0);
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
    for (const waiting of this.#waitingOf(caller)) waiting.arrived(caller.accountId);
  }

  /** A request that arrived is over. */
  left(caller: TurnCaller): void {
    this.saw(caller);
    for (const waiting of this.#waitingOf(caller)) waiting.left(caller.accountId);
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

  #waitingOf({ testMode }: TurnCaller): WaitingAccounts[] {
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

  /**
   * Notes that requests of the account wait for their turns. As long as they do, and for a second after it, the account is held to its share though the process has time to spare
   * meanwhile: all that waits would begin in a moment in which holding it back has helped.
   */
  noteHeld({ accountId }: TurnCaller): void {
    const nowMs = this.now();
    forget(this.#heldAt, nowMs - latelyMs);
    note(this.#heldAt, accountId, nowMs);
  }

  /** Whether time that the account takes is missing to another one. */
  areShort(accountId: string): boolean {
    if (!this.#isBusy() && !this.#isHeld(accountId)) return false;
    return this.#present.hasOther(accountId) || this.#sawOther(this.#seenAt, accountId);
  }

  /** Whether time is missing to any of several accounts. */
  areAnyShort(): boolean {
    forget(this.#seenAt, this.now() - latelyMs);
    forget(this.#heldAt, this.now() - latelyMs);
    const asking = new Set([...this.#seenAt.keys(), ...this.#present.ids()]);
    return asking.size > 1 && (this.#isBusy() || this.#heldAt.size > 0);
  }

  /** The part of the time that no account misses. */
  get spare(): number {
    return this.#isBusy() ? 0 : this.#spare();
  }

  #isHeld(accountId: string): boolean {
    const heldAt = this.#heldAt.get(accountId);
    return heldAt !== undefined && heldAt > this.now() - latelyMs;
  }

  /** The other accounts that wait for an answer, but for short pauses, without those in test mode where this one is in live mode. */
  othersOf({ accountId, testMode }: TurnCaller): Iterable<string> {
    return (testMode ? this.#present : this.#livePresent).othersOf(accountId);
  }

  /** Whether the account takes a smaller share: it asks for more than it may, or it is in test mode and another one in live mode. */
  yields(caller: TurnCaller): boolean {
    if (this.isAtLimit(caller)) return true;
    if (!caller.testMode) return false;
    return this.#livePresent.hasOther(caller.accountId) || this.#sawOther(this.#liveSeenAt, caller.accountId);
  }

  #sawOther(times: Map<string, number>, accountId: string): boolean {
    forget(times, this.now() - latelyMs);
    for (const waiting of [this.#present, this.#livePresent]) waiting.forget();
    return times.size > 1 || (times.size === 1 && !times.has(accountId));
  }
}

/** Notes a time. What was noted last is at the end, so that what is old is at the beginning. */
export function note(times: Map<string, number>, name: string, nowMs: number): void {
  times.delete(name);
  times.set(name, nowMs);
}

/** Forgets what was noted until then. */
export function forget(times: Map<string, number>, untilMs: number): void {
  for (const [name, atMs] of times) {
    if (atMs > untilMs) return;
    times.delete(name);
  }
}

const latelyMs = 1_000;
/** Longer than the second after which a refused request may come again. */
const atLimitMs = 2_000;
