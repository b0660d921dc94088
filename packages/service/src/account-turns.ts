import type { Scope } from '@eligo/postgres';

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

/** Work that is done account by account, in turns: each run goes on behind the account where the last one ended. */
export class AccountTurns {
  readonly #find: (after: TurnPlace) => Promise<Turns>;
  readonly #act: (scope: Scope) => Promise<boolean>;
  readonly #nextInMs: () => Promise<number | undefined>;
  #place = firstTurn;
  /** An account failed since the first one had its turn. */
  #hasFailed = false;

  /** `act` does a page of an account's work and answers whether there may be more; `nextInMs` is how long until some is due. */
  constructor(
    find: (after: TurnPlace) => Promise<Turns>,
    act: (scope: Scope) => Promise<boolean>,
    nextInMs: () => Promise<number | undefined>,
  ) {
    this.#find = find;
    this.#act = act;
    this.#nextInMs = nextInMs;
  }

  /** Runs one turn of some accounts. Answers as a job does: true if there may be more at once. */
  async run(signal: AbortSignal, onFailure: (error: unknown) => void): Promise<unknown> {
    const begun = this.#place;
    const { due, last } = await this.#find(begun);
    this.#place = last ?? firstTurn;
    let isMore = begun !== firstTurn;
    for (const scope of due) {
      if (signal.aborted) break;
      try {
        isMore = (await this.#act(scope)) || isMore;
      } catch (error) {
        this.#hasFailed = true;
        onFailure(error);
      }
    }
    if (this.#hasFailed) {
      // The others have their turns. What failed is still due: it must not be tried again and again without a pause.
      this.#hasFailed = last !== undefined;
      return last !== undefined;
    }
    return isMore || { dueInMs: await this.#nextInMs() };
  }
}
