import type { Knex } from 'knex';
import type { PoolClient, QueryResult } from 'pg';
import { answerTimeoutMs, type Database } from './database.ts';
import { type Db, onlyRow } from './db.ts';
import { CommitRefused, CommitUnknown, isConnectionLoss, sqlState, translateError } from './errors.ts';
import { isSameScope, type Scope } from './scope.ts';
import type { Statement } from './statement.ts';

/**
 * A running transaction, made by `withTx` alone. Statements sent without waiting for each other (`Promise.all`) run in the order in which
 * they were sent and share a round trip. After a failed statement nothing can be saved: use `on conflict`, not catch and go on.
 */
export class Tx implements Db {
  readonly database: Database;
  readonly scope: Scope | null;
  readonly hooks: (() => void | Promise<void>)[] = [];
  readonly unknownHooks: (() => void)[] = [];
  readonly #client: PoolClient;
  readonly #answerTimeoutMs: number;
  readonly #running = new Set<Promise<unknown>>();
  /** BEGIN, until it is answered. */
  #beginning: Promise<unknown> | undefined;
  #isHeld = false;
  #failure: unknown;
  #ended = false;
  #unfinished = 0;
  #committing: Promise<PromiseSettledResult<void>[]> | undefined;

  /** `begun` is the answer to BEGIN, which need not have come. */
  constructor(
    database: Database,
    client: PoolClient,
    scope: Scope | null,
    begun: Promise<unknown>,
    statementTimeoutMs?: number,
  ) {
    this.database = database;
    this.#client = client;
    this.#answerTimeoutMs = answerTimeoutMs(database.options, statementTimeoutMs);
    this.scope = scope;
    this.#beginning = begun;
    const answered = () => {
      this.#beginning = undefined;
    };
    begun.then(answered, answered);
  }

  async rows<Row>(statement: Statement<Row>, scope: Scope | null, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#run(statement, scope, values)).rows as Row[];
  }

  async row<Row>(
    statement: Statement<Row>,
    scope: Scope | null,
    values: readonly unknown[] = [],
  ): Promise<Row | undefined> {
    return onlyRow((await this.#run(statement, scope, values)).rows as Row[], statement.name);
  }

  async execute<Row>(statement: Statement<Row>, scope: Scope | null, values: readonly unknown[] = []): Promise<number> {
    return (await this.#run(statement, scope, values)).rowCount ?? 0;
  }

  async query<Row>(scope: Scope | null, builder: Knex.QueryBuilder): Promise<Row[]> {
    if (scope === null) this.#holdUntilBegun();
    else this.#checkScope(scope, 'a built query');
    const { sql, bindings } = builder.toSQL().toNative();
    return (await this.#send(this.database.shapeName(sql), sql, [...bindings])).rows as Row[];
  }

  /** The failure of the first statement that failed, if one did. */
  get failure(): unknown {
    return this.#failure;
  }

  /** How many statements were still running when the function returned. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** Ends the use of the transaction and waits for what still runs on its connection. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#unfinished = this.#running.size;
    await Promise.allSettled(this.#running);
  }

  /** Sends COMMIT behind what has been sent. Nothing may follow. */
  sendCommit(): void {
    if (this.#ended) throw new Error('a commit of a transaction that has ended');
    this.#ended = true;
    const send = () => sendCommit(this.#client);
    const sent = this.#isHeld && this.#beginning !== undefined ? this.#beginning.then(send) : send();
    this.#committing = Promise.allSettled([sent]);
  }

  /** Whether COMMIT has been sent, so that only its answer can tell what became of the transaction. */
  get isCommitSent(): boolean {
    return this.#committing !== undefined;
  }

  /** Waits for the answer to COMMIT, which it sends unless it has been sent. */
  async commit(): Promise<void> {
    if (this.#committing === undefined) return sendCommit(this.#client);
    for (const outcome of await this.#committing) if (outcome.status === 'rejected') throw outcome.reason;
  }

  #run<Row>(statement: Statement<Row>, scope: Scope | null, values: readonly unknown[]): Promise<QueryResult> {
    if (statement.kind === 'unscoped') {
      this.#holdUntilBegun();
      return this.#send(statement.name, statement.text, [...values]);
    }
    if (scope === null) throw new Error(`Statement ${statement.name} needs a scope`);
    this.#checkScope(scope, statement.name);
    return this.#send(statement.name, statement.text, [scope.accountId, scope.testMode, ...values]);
  }

  #checkScope(scope: Scope, name: string): void {
    if (this.scope === null || !isSameScope(this.scope, scope)) {
      throw new Error(`Statement ${name} has a different account or mode than its transaction`);
    }
  }

  // Without BEGIN a statement would be a transaction of its own. One of an account finds no row then, since the account is set with BEGIN;
  // what no account guards has to wait, and what is sent after it as well, to keep the order.
  #holdUntilBegun(): void {
    this.#isHeld = true;
  }

  async #send(name: string | undefined, text: string, values: unknown[]): Promise<QueryResult> {
    if (this.#ended) throw new Error('a statement on a transaction that has ended');
    const bounded = { text, values, query_timeout: this.#answerTimeoutMs };
    const send = () => this.#client.query(name === undefined ? bounded : { ...bounded, name });
    const sent = this.#isHeld && this.#beginning !== undefined ? this.#beginning.then(send) : send();
    this.#running.add(sent);
    const startedAt = performance.now();
    try {
      return await sent;
    } catch (error) {
      this.#failure ??= error;
      // Of statements that were sent together the ones behind the failed one are refused because of it: its failure is theirs.
      throw translateError(sqlState(error) === transactionIsAborted ? this.#failure : error);
    } finally {
      this.#running.delete(sent);
      this.database.options.onStatement?.(name ?? 'unnamed', performance.now() - startedAt);
    }
  }
}

const transactionIsAborted = '25P02';

/**
 * Sends COMMIT together with the statements that were sent last, which saves a round trip. Call it after sending them and before waiting for
 * them. What they answer can no longer change what is committed: use it only where every answer is as good as another, or a wrong one is an
 * error of the server's own. Nothing may be sent afterwards.
 */
export function commitBehind(tx: Tx): void {
  tx.sendCommit();
}

/** Sends COMMIT and reads the tag that it is answered with. */
async function sendCommit(client: PoolClient): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query('commit')).command;
  } catch (error) {
    throw isConnectionLoss(error) ? new CommitUnknown(error) : error;
  }
  // The server answers COMMIT with ROLLBACK, and no error, when the transaction had failed.
  if (tag !== 'COMMIT') throw new CommitRefused(`COMMIT returned ${tag}`);
}

/** Runs the function once the transaction has committed, and not otherwise. Its failure is reported and does not undo anything. */
export function afterCommit(tx: Tx, hook: () => void | Promise<void>): void {
  tx.hooks.push(hook);
}

/** Runs the function where COMMIT was sent and not answered: the transaction may have committed. Its failure is reported. */
export function afterUnknownCommit(tx: Tx, hook: () => void): void {
  tx.unknownHooks.push(hook);
}
