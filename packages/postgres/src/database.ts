import type { Knex } from 'knex';
import pg from 'pg';
import { connectionTo, tlsFailure } from './connection-tls.ts';
import { type ConnectionRank, ConnectionTurns, noConnection } from './connection-turns.ts';
import { type Db, onlyRow } from './db.ts';
import { translateError } from './errors.ts';
import { GatheringSocket } from './gathering-socket.ts';
import { refuseInsideTransaction } from './inside-transaction.ts';
import { type LoginRefusal, loginRefusal } from './login-refusal.ts';
import type { Scope } from './scope.ts';
import { ShapeNames } from './shape-names.ts';
import { readInOneTripAfter, type Statement } from './statement.ts';
import { typeParsers } from './types.ts';

/** How to reach a database and within which bounds. Times are in milliseconds. */
export interface DatabaseOptions {
  readonly url: string;
  readonly applicationName: string;
  /** Connections at most (10). The sum over all instances stays under the server's max_connections. */
  readonly max?: number;
  /** How long a caller waits for a connection before it is refused with 503 (2,000). */
  readonly connectionWaitMs?: number;
  /** The server ends a statement after this (5,000). */
  readonly statementTimeoutMs?: number;
  /** The server refuses to wait for a lock longer than this (2,000). */
  readonly lockTimeoutMs?: number;
  /** The server ends a transaction that idles longer than this (10,000): a stopped process must not hold locks. */
  readonly idleInTransactionTimeoutMs?: number;
  /**
   * How much longer than the server's own bound a statement may go without an answer (2,000): a server, or a network, that has fallen silent.
   * The connection is then dropped.
   */
  readonly answerMarginMs?: number;
  /**
   * Whether every statement reads few rows, by their keys, as in a service. The server then never scans or hashes a whole table, which it otherwise
   * does in tables of up to about 1,000 rows, and from a cached plan in larger ones (ADR 3).
   */
  readonly readsByKey?: boolean;
  /** The schema that unqualified names are found in; by default what the role says. */
  readonly schema?: string;
  /** Told of each statement once it is answered: its name, and how long it took. */
  readonly onStatement?: ((name: string, durationMs: number) => void) | undefined;
  /** Told, at most every 30 s, that the server refused a login. */
  readonly onLoginRefused?: (refusal: LoginRefusal) => void;
  /** Told, at most every 30 s, that the server's certificate, or ours, was refused. */
  readonly onTlsFailed?: (failure: { readonly host: string; readonly reason: string }) => void;
  /** Told of errors that no caller waits for: a dropped idle connection, a failed after-commit hook. */
  readonly onError?: (error: unknown, where: string) => void;
}

/** Opens a pool of connections. Nothing is sent before the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  return new Database(options);
}

/** A pool of connections to one schema, on which each statement stands by itself; `withTx` makes several of them one. */
export class Database implements Db {
  readonly options: DatabaseOptions;
  readonly #pool: pg.Pool;
  readonly #turns: ConnectionTurns;
  readonly #shapes = new ShapeNames();
  #closing: Promise<void> | undefined;
  readonly #beforeClose = new Set<() => Promise<void>>();
  #loginRefusedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DatabaseOptions) {
    this.options = options;
    const [max, waitMs] = [options.max ?? 10, options.connectionWaitMs ?? 2_000];
    this.#turns = new ConnectionTurns(max, waitMs);
    this.#pool = new pg.Pool({
      ...connectionConfig(options),
      max,
      connectionTimeoutMillis: waitMs,
      idleTimeoutMillis: 60_000,
      // A connection is replaced once an hour, to free its plans and memory.
      maxLifetimeSeconds: 3_600,
    });
    // Without a listener a dropped idle connection would end the process.
    this.#pool.on('error', (error) => this.report(error, 'idle connection failed'));
    this.#pool.on('connect', (client) => client.on('error', (error) => this.report(error, 'a connection')));
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
    const { sql, bindings } = builder.toSQL().toNative();
    if (scope === null) return (await this.#send(null, this.#shapes.nameOf(sql), sql, [...bindings])).rows as Row[];
    const text = readInOneTripAfter(sql, bindings.length);
    const values = [...bindings, scope.accountId, scope.testMode];
    return (await this.#send(scope, this.#shapes.nameOf(text), text, values)).rows as Row[];
  }

  /** Whether the server answers; for readiness. */
  async ping(): Promise<void> {
    await this.#send(null, 'ping', 'select 1', []);
  }

  /** The pool as metrics see it. */
  stats(): { total: number; idle: number; waiting: number; max: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    const waiting = this.#turns.waiting + waitingCount;
    return { total: totalCount, idle: idleCount, waiting, max: this.#pool.options.max };
  }

  /** How many callers of each rank were refused since the start, because no connection became free for them in time. */
  refused(): [ConnectionRank, number][] {
    return this.#turns.refused();
  }

  /** Waits for what is running and closes every connection. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#beforeClose].map((work) => work())).then(() => {
      this.#turns.close();
      return this.#pool.end();
    });
    return this.#closing;
  }

  /** Whether `close` was called: nothing new is to be begun. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Has `close` carry out something first that was put off; the function that is returned takes it back. `work` does not throw. */
  doBeforeClose(work: () => Promise<void>): () => void {
    this.#beforeClose.add(work);
    return () => void this.#beforeClose.delete(work);
  }

  /** Hands a connection to `withTx`, which is the only one to call this, and `giveBack` for each. */
  async checkOut(scope: Scope | null): Promise<pg.PoolClient> {
    try {
      const waited = this.#turns.enter(scope);
      return await (waited === undefined ? this.#connect(scope) : this.#connectAfter(waited, scope));
    } catch (error) {
      this.reportLogin(error);
      throw translateError(error);
    }
  }

  /** A connection whose state is not known is closed. */
  giveBack(client: pg.PoolClient, scope: Scope | null, isStateKnown: boolean): void {
    try {
      client.release(!isStateKnown);
    } finally {
      this.#turns.leave(scope);
    }
  }

  /** The name under which a built query's shape is prepared, if it is. */
  shapeName(sql: string): string | undefined {
    return this.#shapes.nameOf(sql);
  }

  report(error: unknown, where: string): void {
    if (this.options.onError !== undefined) this.options.onError(error, where);
    else
      process.emitWarning(`${where}: ${error instanceof Error ? error.message : 'unknown error'}`, 'PostgresWarning');
  }

  /** Reports an error that is the refusal of a login or of a certificate, with what an operator has to compare: the role, the host and the database. */
  reportLogin(error: unknown): void {
    const { url, onLoginRefused, onTlsFailed } = this.options;
    const refusal = loginRefusal(error, url);
    const reason = tlsFailure(error);
    if (refusal === undefined && reason === undefined) return;
    if (performance.now() - this.#loginRefusedAt < loginReportMs) return;
    this.#loginRefusedAt = performance.now();
    if (refusal !== undefined) onLoginRefused?.(refusal);
    if (reason !== undefined) onTlsFailed?.({ host: new URL(url).hostname, reason });
  }

  #run<Row>(statement: Statement<Row>, scope: Scope | null, values: readonly unknown[]): Promise<pg.QueryResult> {
    if (statement.kind === 'unscoped') return this.#send(scope, statement.name, statement.text, [...values]);
    if (scope === null) throw new Error(`Statement ${statement.name} needs a scope`);
    if (statement.read === undefined) throw new Error(`Statement ${statement.name} writes, so it needs a transaction`);
    return this.#send(scope, statement.read.name, statement.read.text, [scope.accountId, scope.testMode, ...values]);
  }

  async #send(scope: Scope | null, name: string | undefined, text: string, values: unknown[]): Promise<pg.QueryResult> {
    // It would wait for a second connection while it holds one: enough of these at once and none moves.
    refuseInsideTransaction('a statement on the database');
    const startedAt = performance.now();
    try {
      const query = name === undefined ? { text, values } : { name, text, values };
      const waited = this.#turns.enter(scope);
      return await (waited === undefined ? this.#query(query, scope) : this.#queryAfter(waited, query, scope));
    } catch (error) {
      this.reportLogin(error);
      throw translateError(error);
    } finally {
      this.options.onStatement?.(name ?? 'unnamed', performance.now() - startedAt);
    }
  }

  async #query(query: pg.QueryConfig, scope: Scope | null): Promise<pg.QueryResult> {
    try {
      return await this.#pool.query(query);
    } finally {
      this.#turns.leave(scope);
    }
  }

  async #queryAfter(waited: Promise<number>, query: pg.QueryConfig, scope: Scope | null): Promise<pg.QueryResult> {
    const client = await this.#connectAfter(waited, scope);
    let isStateKnown = false;
    try {
      const result = await client.query(query);
      isStateKnown = true;
      return result;
    } finally {
      this.giveBack(client, scope, isStateKnown);
    }
  }

  async #connect(scope: Scope | null): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      this.#turns.leave(scope);
      throw error;
    }
  }

  // A connection that has to be made takes no longer than what is left of the caller's wait.
  async #connectAfter(waited: Promise<number>, scope: Scope | null): Promise<pg.PoolClient> {
    const leftMs = await waited;
    const connecting = this.#connect(scope);
    let late: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      late = setTimeout(() => reject(noConnection()), leftMs);
    });
    try {
      return await Promise.race([connecting, over]);
    } catch (error) {
      connecting.then(
        (client) => this.giveBack(client, scope, true),
        () => undefined,
      );
      throw error;
    } finally {
      clearTimeout(late);
    }
  }
}

const loginReportMs = 30_000;

/** How long a statement may go without an answer, on a server that ends it after `statementTimeoutMs`. */
export function answerTimeoutMs(options: DatabaseOptions, ofStatementMs = statementTimeoutMs(options)): number {
  return ofStatementMs + (options.answerMarginMs ?? 2_000);
}

function statementTimeoutMs(options: DatabaseOptions): number {
  return options.statementTimeoutMs ?? 5_000;
}

/** What every connection of ours has in common, pooled or not. */
export function connectionConfig(options: DatabaseOptions): pg.ClientConfig {
  // jit would spend more on compiling than any of these statements runs.
  const settings = ['-c jit=off'];
  if (options.schema !== undefined) settings.push(`-c search_path=${options.schema}`);
  if (options.readsByKey === true)
    settings.push(...['seqscan', 'hashjoin', 'mergejoin', 'material'].map((path) => `-c enable_${path}=off`));
  return {
    ...connectionTo(options.url),
    application_name: options.applicationName,
    statement_timeout: statementTimeoutMs(options),
    lock_timeout: options.lockTimeoutMs ?? 2_000,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 10_000,
    // In pipeline mode this drops the connection, where it otherwise would leave it half used.
    query_timeout: answerTimeoutMs(options),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: settings.join(' '),
    types: typeParsers,
    // Statements that a transaction sends without waiting for each other share a round trip.
    pipeline: true,
    stream: () => new GatheringSocket(),
  };
}
