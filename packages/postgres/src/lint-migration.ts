import type { Migration } from './migration-source.ts';
import { bareText, splitStatements } from './sql-text.ts';
import { unboundedTable } from './unbounded-dml.ts';

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
  | 'not-repeatable'
  | 'constraint-scans-table'
  | 'unique-constraint-locks-table'
  | 'type-change-rewrites'
  | 'drop-before-contract'
  | 'rename-before-contract'
  | 'heavy-lock'
  | 'unbounded-dml';

/**
 * The findings of one migration. Tables that the file itself creates are empty and unused, so anything may be done to them. Nothing
 * is dropped or renamed unless the header declares the contract phase: the release before this one, which still runs, must not read it.
 */
export function lintMigration(migration: Migration): MigrationFinding[] {
  const findings: MigrationFinding[] = [];
  const fresh = new Set<string>();
  for (const { text, line } of splitStatements(migration.sql)) {
    const bare = bareText(text).replace(/\s+/g, ' ').trim();
    const created = createdTable.exec(bare)?.[1];
    if (created !== undefined) fresh.add(lastPart(created));
    const around = { migration, isFresh: (table: string) => fresh.has(lastPart(table)) };
    const found = [
      ...clausesOf(bare, around).map((clause) => clauseFinding(clause, migration)),
      statementFinding(bare, around),
      migration.fewRows === undefined ? unboundedFinding(text, around) : undefined,
      migration.noTransaction && !repeatable.test(bare) ? notRepeatable : undefined,
    ];
    for (const finding of found)
      if (finding !== undefined) findings.push({ migration: migration.id, line, ...finding });
  }
  return findings;
}

/** The findings of all migrations, in order. */
export function lintMigrations(migrations: readonly Migration[]): MigrationFinding[] {
  return migrations.flatMap(lintMigration);
}

type Finding = Pick<MigrationFinding, 'rule' | 'message'>;

interface Surroundings {
  readonly migration: Migration;
  isFresh(table: string): boolean;
}

/** What a file without a transaction may contain: after a failure or a crash it runs again from its first statement. */
const repeatable =
  /^(create (unique )?index concurrently if not exists|drop index concurrently if exists|reindex|vacuum|analyze)\b/;

const notRepeatable: Finding = {
  rule: 'not-repeatable',
  message: 'without a transaction, use `if not exists` or `if exists`; put other statements into a file of their own',
};

const createdTable = /^create (?:unlogged )?table (?:if not exists )?([\w."]+)/;
const alteredTable = /^alter table (?:if exists )?(?:only )?([\w."]+) (.*)$/;

/** What is wrong with one clause of an ALTER TABLE, by how it begins. */
function clauseFinding(clause: string, migration: Migration): Finding | undefined {
  if (/^add (?:constraint [\w"]+ )?(?:check|foreign|unique|primary|exclude)\b/.test(clause))
    return addedConstraint(clause);
  if (/^add /.test(clause)) return addedColumn(clause);
  if (/^alter /.test(clause)) return changedColumn(clause);
  if (migration.contract) return undefined;
  if (/^drop (?!constraint\b)/.test(clause)) return dropBeforeContract;
  if (/^rename (?!constraint\b)/.test(clause)) {
    return {
      rule: 'rename-before-contract',
      message: 'add the new name, use it, and drop the old name in a contract phase',
    };
  }
  return undefined;
}

function addedColumn(clause: string): Finding | undefined {
  // What the server evaluates once per row, and so rewrites the table for; now() and constants it does not.
  const volatile = /\b(random|gen_random_uuid|uuidv4|uuidv7|clock_timestamp|timeofday|nextval)\s*\(/;
  if (volatile.test(clause) || /\b(small|big)?serial\b|generated (always|by default) as/.test(clause)) {
    return {
      rule: 'volatile-default',
      message: 'add the column without it, then set the default, then fill in batches',
    };
  }
  if (/\bnot null\b/.test(clause) && !/\bdefault\b/.test(clause)) {
    return { rule: 'required-column', message: 'the running release does not fill it; set a default or allow null' };
  }
  return undefined;
}

function changedColumn(clause: string): Finding | undefined {
  if (/\bset not null\b/.test(clause)) {
    return {
      rule: 'set-not-null',
      message: 'it scans the table under an exclusive lock; validate a check constraint first',
    };
  }
  if (/^alter (?:column |(?!column ))[\w"]+ (?:set data )?type\b/.test(clause)) {
    return { rule: 'type-change-rewrites', message: 'it rewrites the table; add a new column and fill it' };
  }
  return undefined;
}

function addedConstraint(clause: string): Finding | undefined {
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

const dropBeforeContract: Finding = {
  rule: 'drop-before-contract',
  message: 'declare `-- eligo: contract` once no running release uses it',
};

/** What is wrong with a statement other than ALTER TABLE. */
function statementFinding(bare: string, { migration, isFresh }: Surroundings): Finding | undefined {
  const index = /^create (?:unique )?index (concurrently )?(?:if not exists )?(?:[\w"]+ )?on (?:only )?([\w."]+)/.exec(
    bare,
  );
  if (index !== null) return createdIndex(index[1] !== undefined, index[2] ?? '', { migration, isFresh });
  const dropped = /^drop (?:table|view|materialized view|schema|type) (?:if exists )?([\w."]+)/.exec(bare)?.[1];
  if (dropped !== undefined) return migration.contract || isFresh(dropped) ? undefined : dropBeforeContract;
  const heavy =
    /^(lock table|vacuum full|cluster|truncate|refresh materialized view (?!concurrently)|reindex (?!.*concurrently))/.exec(
      bare,
    );
  if (heavy === null) return undefined;
  const table = /^(?:lock table|truncate(?: table)?) (?:only )?([\w."]+)/.exec(bare)?.[1];
  if (table !== undefined && isFresh(table)) return undefined;
  return { rule: 'heavy-lock', message: `${heavy[1]} blocks all other access to the table` };
}

function unboundedFinding(text: string, { isFresh }: Surroundings): Finding | undefined {
  const table = unboundedTable(text, isFresh);
  if (table === undefined) return undefined;
  return {
    rule: 'unbounded-dml',
    message: `it locks or copies as many rows as ${table} has; let a job do so in batches, or say why they are few: \`-- eligo: few-rows: one for each account\``,
  };
}

function createdIndex(isConcurrent: boolean, table: string, { migration, isFresh }: Surroundings): Finding | undefined {
  if (isConcurrent) {
    if (migration.noTransaction) return undefined;
    return { rule: 'concurrently-in-transaction', message: 'give the file the header `-- eligo: no-transaction`' };
  }
  if (isFresh(table)) return undefined;
  return { rule: 'index-locks-table', message: 'it blocks all writes meanwhile; create it concurrently' };
}

/** The clauses of an ALTER TABLE, split at the commas between them; none for a table that is fresh, nor for another statement. */
function clausesOf(bare: string, { isFresh }: Surroundings): string[] {
  const [, table, text] = alteredTable.exec(bare) ?? [];
  if (table === undefined || text === undefined || isFresh(table)) return [];
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
