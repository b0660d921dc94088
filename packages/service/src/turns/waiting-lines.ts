import { Failure } from '@eligo/failures';
import type { Neighbors } from './neighbors.ts';
import { nameOf, type TurnCaller } from './turn-caller.ts';

/** Ends a turn. */
export type Leave = () => void;

/** When a turn may begin, and what its beginning is. */
export interface TurnRules {
  readonly mayBegin: (caller: TurnCaller) => boolean;
  readonly begin: (caller: TurnCaller) => Leave;
}

/** Bounds of the requests of one account that wait. */
export interface WaitingLimits {
  readonly waitingOfAccount: number;
  readonly longestWaitMs: number;
}

/** Requests that wait for their turn: a line for each account, live mode before test mode, and the accounts of a mode by turns. */
export class WaitingLines {
  readonly #neighbors: Neighbors;
  readonly #limits: WaitingLimits;
  readonly #rules: TurnRules;
  readonly #live = new Map<string, Waiting[]>();
  readonly #test = new Map<string, Waiting[]>();
  #look: NodeJS.Timeout | undefined;

  constructor(neighbors: Neighbors, limits: WaitingLimits, rules: TurnRules) {
    this.#neighbors = neighbors;
    this.#limits = limits;
    this.#rules = rules;
  }

  /** Returns the function that ends the turn, at once when the turn begins now. Throws or rejects when it cannot begin in time. */
  enter(caller: TurnCaller): Leave | Promise<Leave> {
    const own = this.#lineOf(caller).get(nameOf(caller));
    if (own === undefined && this.#rules.mayBegin(caller)) return this.#rules.begin(caller);
    return this.#wait(caller, own ?? []);
  }

  /** Throws when too many requests of the account wait. */
  assertRoom(caller: TurnCaller): void {
    const waiting = this.#lineOf(caller).get(nameOf(caller))?.length ?? 0;
    if (waiting < this.#limits.waitingOfAccount) return;
    this.#neighbors.noteLimit(caller);
    throw new Failure('rate_limited', { retryAfterSeconds: 1 });
  }

  /** Begins the turns that may begin by now. */
  letIn(): void {
    for (const line of [this.#live, this.#test]) {
      for (const [name, own] of line) {
        const next = own[0];
        if (next === undefined || !this.#rules.mayBegin(next.caller)) continue;
        own.shift();
        // An account that had its turn goes last.
        line.delete(name);
        if (own.length > 0) line.set(name, own);
        clearTimeout(next.late);
        next.resolve(this.#rules.begin(next.caller));
      }
    }
    this.#lookAgain();
  }

  #wait(caller: TurnCaller, own: Waiting[]): Promise<Leave> {
    this.assertRoom(caller);
    const { promise, resolve, reject } = Promise.withResolvers<Leave>();
    const late = setTimeout(() => {
      own.splice(own.indexOf(waiting), 1);
      if (own.length === 0) this.#lineOf(caller).delete(nameOf(caller));
      reject(new Failure('service_unavailable', { retryAfterSeconds: 1 }));
    }, this.#limits.longestWaitMs);
    const waiting: Waiting = { caller, resolve, late };
    own.push(waiting);
    this.#lineOf(caller).set(nameOf(caller), own);
    this.#lookAgain();
    return promise;
  }

  // Not only the end of another turn lets one begin: so do the passing of time, and a process that is no longer busy.
  #lookAgain(): void {
    if (this.#look !== undefined || this.#live.size + this.#test.size === 0) return;
    this.#look = setTimeout(() => {
      this.#look = undefined;
      this.letIn();
    }, lookMs);
  }

  #lineOf({ testMode }: TurnCaller): Map<string, Waiting[]> {
    return testMode ? this.#test : this.#live;
  }
}

interface Waiting {
  readonly caller: TurnCaller;
  readonly resolve: (leave: Leave) => void;
  readonly late: NodeJS.Timeout;
}

const lookMs = 20;
