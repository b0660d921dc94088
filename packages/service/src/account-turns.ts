import type { Scope } from '@eligo/postgres';
import { eachAtOnce } from './each-at-once.ts';
import { nameOf } from './turns/turn-caller.ts';

/** Where the last look among the accounts ended. */
export interface TurnPlace {
  readonly accountId: string;
  readonly testMode: boolean;
}

/** Before all accounts. */
export const firstTurn: TurnPlace = { accountId: '', testMode: false };

/** The accounts of one look that have something due, and where the next look begins: undefined behind the last account. */
export interface Turns {
  readonly due: Scope[];
  readonly last: TurnPlace | undefined;
}

/** An account as a finder shows it. */
export interface TurnRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly is_due: boolean;
}

/** The turns of a look at `most` accounts. */
export function turnsOf(rows: readonly TurnRow[], most: number): Turns {
  const scopes = rows.map((row) => ({ accountId: row.account_id, testMode: row.test_mode }));
  return {
    due: scopes.filter((_, at) => rows[at]?.is_due === true),
    last: rows.length < most ? undefined : scopes.at(-1),
  };
}

/** What an account's work knows of its turn. */
export interface Turn {
  /** After it nothing new begins. */
  readonly signal: AbortSignal;
  /** How many accounts have their turns at the same time, this one included. */
  readonly accountsAtOnce: number;
}

/** Work that is done account by account, in turns: each run goes on behind the account where the last one ended. */
export class AccountTurns {
  readonly #find: (after: TurnPlace) => Promise<Turns>;
  readonly #act: (scope: Scope, turn: Turn) => Promise<boolean>;
  readonly #nextInMs: () => Promise<number | undefined>;
  readonly #atOnce: number;
  #place = firstTurn;
  /** Accounts whose turn failed, and when each may have the next one, on the clock of performance.now(). */
  readonly #paused = new Map<string, number>();
  /** An account had more to do since the first one had its turn. */
  #isMoreInRound = false;

  /**
   * `act` does a page of an account's work and answers whether there may be more; `nextInMs` is how long until some is due. `atOnce` accounts have their turns
   * at the same time: more than one where an account waits for a peer that may be slow for it alone.
   */
  constructor(
    find: (after: TurnPlace) => Promise<Turns>,
    act: (scope: Scope, turn: Turn) => Promise<boolean>,
    nextInMs: () => Promise<number | undefined>,
    { atOnce }: { readonly atOnce: number } = { atOnce: 1 },
  ) {
    this.#find = find;
    this.#act = act;
    this.#nextInMs = nextInMs;
    this.#atOnce = atOnce;
  }

  /** Runs one turn of some accounts. Answers as a job does: true if there may be more at once. */
  async run(signal: AbortSignal, onFailure: (error: unknown) => void): Promise<unknown> {
    const begun = this.#place;
    const { due, last } = await this.#find(begun);
    this.#place = last ?? firstTurn;
    this.#endPauses();
    const ready = due.filter((scope) => !this.#paused.has(nameOf(scope)));
    let isMore = false;
    const turn = { signal, accountsAtOnce: Math.min(this.#atOnce, ready.length) };
    await eachAtOnce(ready, { atOnce: this.#atOnce, signal }, async (scope) => {
      try {
        if (await this.#act(scope, turn)) isMore = true;
      } catch (error) {
        this.#paused.set(nameOf(scope), performance.now() + failedPauseMs);
        onFailure(error);
      }
    });
    const isMoreInRound = isMore || this.#isMoreInRound;
    this.#isMoreInRound = isMoreInRound && last !== undefined;
    if (this.#paused.size === 0) {
      return isMore || begun !== firstTurn || { dueInMs: await this.#nextInMs() };
    }
    // The others have their turns.
    if (isMoreInRound || last !== undefined) return true;
    // What failed is still due: it must not be tried again and again without a pause. The time until the next run is one.
    this.#paused.clear();
    const dueInMs = (await this.#nextInMs()) ?? 0;
    return { dueInMs: dueInMs > 0 ? dueInMs : failedPauseMs };
  }

  #endPauses(): void {
    const nowMs = performance.now();
    for (const [key, untilMs] of this.#paused) if (untilMs <= nowMs) this.#paused.delete(key);
  }
}

// Most failures are an outage of seconds.
const failedPauseMs = 10_000;
