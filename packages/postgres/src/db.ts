import type { Knex } from 'knex';
import type { Scope } from './scope.ts';
import type { ScopedStatement, UnscopedStatement } from './statement.ts';

/** What runs statements: a `Database`, each statement by itself, or a `Tx`, all of them or none. The account that an unscoped statement is asked for says whose turn at a connection it takes, and nothing more. */
export interface Db {
  rows<Row>(statement: ScopedStatement<Row>, scope: Scope, values?: readonly unknown[]): Promise<Row[]>;
  rows<Row>(statement: UnscopedStatement<Row>, askedFor: Scope | null, values?: readonly unknown[]): Promise<Row[]>;

  /** The one row, or undefined; throws when there are more. */
  row<Row>(statement: ScopedStatement<Row>, scope: Scope, values?: readonly unknown[]): Promise<Row | undefined>;
  row<Row>(
    statement: UnscopedStatement<Row>,
    askedFor: Scope | null,
    values?: readonly unknown[],
  ): Promise<Row | undefined>;

  /** The number of rows that were written (or selected). */
  execute<Row>(statement: ScopedStatement<Row>, scope: Scope, values?: readonly unknown[]): Promise<number>;
  execute<Row>(statement: UnscopedStatement<Row>, askedFor: Scope | null, values?: readonly unknown[]): Promise<number>;

  /** Runs a select that `sqlBuilder` built. */
  query<Row>(scope: Scope | null, builder: Knex.QueryBuilder): Promise<Row[]>;
}

/** The one row of a result that holds at most one. */
export function onlyRow<Row>(rows: Row[], name: string): Row | undefined {
  if (rows.length > 1) throw new Error(`Statement ${name} returned ${rows.length} rows; expected at most one`);
  return rows[0];
}
