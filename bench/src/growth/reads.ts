import type pg from 'pg';
import { tracked } from '../costs/statements.ts';

/** What Postgres read for one operation, and for which statements, by their texts. */
export interface StatementReads {
  readonly blocks: number;
  readonly rows: number;
  readonly statements: ReadonlyMap<string, StatementRead>;
}

/** What one statement costs in each operation. Its triggers, foreign keys and functions are part of it. */
export interface StatementRead {
  readonly role: string;
  readonly calls: number;
  /** In memory or not. */
  readonly blocks: number;
  /** Answered or changed. */
  readonly rows: number;
  /** Milliseconds on the clock, and of them those in which it was planned. */
  readonly ms: number;
  readonly planMs: number;
}

/** Counts what each statement of Eligo's roles reads during `work`. */
export async function readsDuring(
  postgres: pg.Pool,
  work: () => Promise<void>,
): Promise<ReadonlyMap<string, StatementRead>> {
  await tracked(postgres, 'top', work);
  const { rows } = await postgres.query<StatementRead & { text: string }>(select);
  return new Map(rows.map(({ text, ...read }) => [text, read]));
}

/** What one of so many operations takes of it. */
export function readsOfOne(all: ReadonlyMap<string, StatementRead>, operations: number): StatementReads {
  const statements = [...all].map(([text, read]): [string, StatementRead] => [
    text,
    {
      role: read.role,
      calls: read.calls / operations,
      blocks: read.blocks / operations,
      rows: read.rows / operations,
      ms: read.ms / operations,
      planMs: read.planMs / operations,
    },
  ]);
  const sum = (of: (read: StatementRead) => number) => statements.reduce((total, [, read]) => total + of(read), 0);
  return { blocks: sum((read) => read.blocks), rows: sum((read) => read.rows), statements: new Map(statements) };
}

/** The statements of which an operation on the large account reads most more blocks than on the small one, as lines. */
export function grownStatements(small: StatementReads, large: StatementReads, most: number): string[] {
  const none = { blocks: 0, rows: 0, ms: 0, planMs: 0, calls: 0 };
  const number = (value: number) => value.toFixed(2);
  return [...large.statements]
    .map(([text, after]) => ({ text, after, before: small.statements.get(text) ?? none }))
    .sort((one, other) => other.after.blocks - other.before.blocks - (one.after.blocks - one.before.blocks))
    .slice(0, most)
    .map(
      ({ text, before, after }) =>
        `${after.role}: blocks ${number(before.blocks)}, ${number(after.blocks)}; calls ${number(before.calls)}, ${number(after.calls)}; ms ${number(before.ms)}, ${number(after.ms)}; planned ms ${number(before.planMs)}, ${number(after.planMs)}: ${text.replace(/\s+/g, ' ').slice(0, longestText)}`,
    );
}

const longestText = 300;

// The bench itself is the superuser, and the owner migrates.
const select = `
  select s.query as text, min(r.rolname) as role, sum(s.calls)::float as calls, sum(s.rows)::float as rows,
    sum(s.shared_blks_hit + s.shared_blks_read)::float as blocks, sum(s.total_exec_time) as ms, sum(s.total_plan_time) as "planMs"
  from pg_stat_statements s join pg_roles r on r.oid = s.userid
  where not r.rolsuper and r.rolname not like '%owner' group by 1`;
