import type { Migration } from './migration-source.ts';
import { bareText, splitStatements } from './sql-text.ts';

/** Something in a migration that stops the running release, or its queries, while it is applied. */
export interface MigrationFinding {
  readonly migration: string;
  readonly line: number;
  readonly rule: MigrationRule;
  readonly message: string;
}

export type MigrationRule =
  | 'volatile-default'
  | 'required-column'
  | 'set-not-null'
  | 'index-locks-table'
  | 'concurrently-in-transaction'
  | 'constraint-scans-table'
  | 'unique-constraint-locks-table'
  | 'type-change-rewrites'
  | 'drop-before-contract'
  | 'rename-before-contract'
  | 'heavy-lock';

/**
 * The findings of one migration. Tables that the file itself creates hold no rows and serve nobody, so anything may be done to them. Nothing
 * is dropped or renamed unless the header declares the contract phase: the release before this one, which still runs, must not read it.
 */
export function lintMigration(migration: Migration): MigrationFinding[] {
  const findings: MigrationFinding[] = [];
  const fresh = new Set<string>();
  for (const { text, line } of splitStatements(migration.sql)) {
    const bare = bareText(text).replace(/\s+/g, ' ').trim();
    const created = createdTable.exec(bare)?.[1];
    if (created !== undefined) fresh.add(lastPart(created));
    for (const check of checks) {
      const found = check(bare, { migration, isFresh: (table) => fresh.has(lastPart(table)) });
      if (found !== undefined) findings.push({ migration: migration.id, line, ...found });
    }
  }
  return findings;
}

/** The findings of all migrations, in order. */
export function lintMigrations(migrations: readonly Migration[]): MigrationFinding[] {
  return migrations.flatMap(lintMigration);
}

interface Surroundings {
  readonly migration: Migration;
  isFresh(table: string): boolean;
}

type Check = (bare: string, around: Surroundings) => { rule: MigrationRule; message: string } | undefined;

const checks: readonly Check[] = [addedColumn, changedColumn, addedConstraint, createdIndex, dropped, renamed, locked];

const createdTable = /^create (?:unlogged )?table (?:if not exists )?([\w."]+)/;
const alteredTable = /^alter table (?:if exists )?(?:only )?([\w."]+) (.*)$/;
// What the server evaluates once per row, and so rewrites the table for; now() and constants it does not.
const volatile = /\b(random|gen_random_uuid|uuidv4|uuidv7|clock_timestamp|timeofday|nextval)\s*\(/;

function addedColumn(bare: string, around: Surroundings): ReturnType<Check> {
  const clause = clauseOf(
    bare,
    around,
    /\badd (?:column )?(?!constraint\b|check\b|foreign\b|unique\b|primary\b|exclude\b)/,
  );
  if (clause === undefined) return undefined;
  if (
    volatile.test(clause) ||
    /\b(small|big)?serial\b/.test(clause) ||
    /generated (always|by default) as/.test(clause)
  ) {
    return {
      rule: 'volatile-default',
      message: 'add the column without it, then set the default, then fill in batches',
    };
  }
  if (/\bnot null\b/.test(clause) && !/\bdefault\b/.test(clause)) {
    return { rule: 'required-column', message: 'the running release does not fill it: give a default or allow null' };
  }
  return undefined;
}

function changedColumn(bare: string, around: Surroundings): ReturnType<Check> {
  const clause = clauseOf(bare, around, /\balter (?:column )?/);
  if (clause === undefined) return undefined;
  if (/\bset not null\b/.test(clause)) {
    return {
      rule: 'set-not-null',
      message: 'it scans the table under an exclusive lock: validate a check constraint first',
    };
  }
  if (/\b(set data )?type\b/.test(clause)) {
    return { rule: 'type-change-rewrites', message: 'it rewrites the table: add a new column and fill it' };
  }
  return undefined;
}

function addedConstraint(bare: string, around: Surroundings): ReturnType<Check> {
  const clause = clauseOf(
    bare,
    around,
    /\badd (?:constraint [\w"]+ )?(?=check\b|foreign\b|unique\b|primary\b|exclude\b)/,
  );
  if (clause === undefined) return undefined;
  if (/\b(unique|primary key|exclude)\b/.test(clause)) {
    if (/\busing index\b/.test(clause)) return undefined;
    return {
      rule: 'unique-constraint-locks-table',
      message: 'create the index concurrently, then add the constraint using it',
    };
  }
  if (/\bnot valid\b/.test(clause)) return undefined;
  return { rule: 'constraint-scans-table', message: 'add it not valid, and validate it in a later file' };
}

function createdIndex(bare: string, around: Surroundings): ReturnType<Check> {
  const match = /^create (?:unique )?index (concurrently )?(?:if not exists )?(?:[\w"]+ )?on (?:only )?([\w."]+)/.exec(
    bare,
  );
  if (match === null) return undefined;
  const [, concurrently, table = ''] = match;
  if (concurrently !== undefined) {
    return around.migration.noTransaction
      ? undefined
      : { rule: 'concurrently-in-transaction', message: 'give the file the header `-- eligo: no-transaction`' };
  }
  if (around.isFresh(table)) return undefined;
  return { rule: 'index-locks-table', message: 'it blocks every write meanwhile: create it concurrently' };
}

function dropped(bare: string, around: Surroundings): ReturnType<Check> {
  if (around.migration.contract) return undefined;
  const table = /^drop (?:table|view|materialized view|schema|type) (?:if exists )?([\w."]+)/.exec(bare)?.[1];
  const column = clauseOf(bare, around, /\bdrop (?:column )?(?!constraint\b|not\b|default\b|expression\b|identity\b)/);
  if ((table === undefined || around.isFresh(table)) && column === undefined) return undefined;
  return { rule: 'drop-before-contract', message: 'declare `-- eligo: contract` once no running release uses it' };
}

function renamed(bare: string, around: Surroundings): ReturnType<Check> {
  if (around.migration.contract || clauseOf(bare, around, /\brename (?!constraint\b)/) === undefined) return undefined;
  return {
    rule: 'rename-before-contract',
    message: 'add the new name, use it, and drop the old one in a contract phase',
  };
}

function locked(bare: string, around: Surroundings): ReturnType<Check> {
  const heavy =
    /^(lock table|vacuum full|cluster|truncate|refresh materialized view (?!concurrently)|reindex (?!.*concurrently))/.exec(
      bare,
    );
  if (heavy === null) return undefined;
  const table = /^(?:lock table|truncate(?: table)?) (?:only )?([\w."]+)/.exec(bare)?.[1];
  if (table !== undefined && around.isFresh(table)) return undefined;
  return { rule: 'heavy-lock', message: `${heavy[1]} keeps everyone else off the table` };
}

/** The part of an ALTER TABLE that the pattern begins, up to the next of its clauses; nothing for a table that is fresh. */
function clauseOf(bare: string, around: Surroundings, begin: RegExp): string | undefined {
  const match = alteredTable.exec(bare);
  const [, table, clauses] = match ?? [];
  if (table === undefined || clauses === undefined || around.isFresh(table)) return undefined;
  return topLevelClauses(clauses).find(
    (clause) => new RegExp(`^${begin.source}`).test(clause) || clause.search(begin) === 0,
  );
}

function topLevelClauses(text: string): string[] {
  const clauses: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    else if (text[at] === ',' && depth === 0) {
      clauses.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  clauses.push(text.slice(from).trim());
  return clauses;
}

function lastPart(name: string): string {
  return name.replaceAll('"', '').split('.').at(-1) ?? name;
}
