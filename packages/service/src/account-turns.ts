import type { Scope } from '@eligo/postgres';
import { eachAtOnce } from './each-at-once.ts';

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
  /** An account failed since the first one had its turn. */
  #hasFailed = false;

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
    let isMore = begun !== firstTurn;
    const turn = { signal, accountsAtOnce: Math.min(this.#atOnce, due.length) };
    await eachAtOnce(due, { atOnce: this.#atOnce, signal }, async (scope) => {
      try {
        if (await this.#act(scope, turn)) isMore = true;
      } catch (error) {
        this.#hasFailed = true;
        onFailure(error);
      }
    });
    if (this.#hasFailed) {
      // The others have their turns. What failed is still due: it must not be tried again and again without a pause.
      this.#hasFailed = last !== undefined;
      return last !== undefined;
    }
    return isMore || { dueInMs: await this.#nextInMs() };
  }
}
