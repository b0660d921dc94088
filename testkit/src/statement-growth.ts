import { declaredStatements } from '@eligo/postgres';
import type { PlanNode, Reading } from './statement-readings.ts';

/** Readings by the text of the statement. */
export type Readings = ReadonlyMap<string, Reading>;

/** The names of the declared statements that nothing has run. Those of `packages/events` and `packages/service` have tests of their own, which ask for them. */
export function statementsNotRun(readings: Readings, of: 'a service' | 'events.' | 'service_' = 'a service'): string[] {
  const missing = declaredStatements().filter((statement) => {
    const read = statement.kind === 'scoped' ? statement.read?.text : undefined;
    return !readings.has(statement.text) && (read === undefined || !readings.has(read));
  });
  return missing
    .map(({ name }) => nameOnly(name))
    .filter((name) => (of === 'a service' ? !/^(test\.|events\.|service_)/.test(name) : name.startsWith(of)))
    .sort();
}

/** A statement whose page is longer than what the small account holds, and of how many rows that is. */
export interface LongPage {
  readonly statement: RegExp;
  readonly rows: number;
}

/**
 * What reads more in the large account than in the small one, each with what it read in both and the steps of its plan. A hundred times the
 * records make an index one level deeper, and a page of a list that was within a page of its table is spread over as many pages as it has rows:
 * that is less than twice the pages, and a few for the map of free space. Old versions of updated rows are read while their index entries exist, and
 * the first run of a function on a connection reads the catalog for its plan, up to 80 pages: 150 pages more are no growth. A statement that
 * grows with the account reads a hundred times as much.
 */
export function growths(small: Readings, large: Readings, longPages: readonly LongPage[] = []): string[] {
  const names = namesByText();
  const found: string[] = [];
  for (const [text, after] of large) {
    const before = small.get(text);
    const [rows, pages] = [before?.rows ?? 0, before?.pages ?? 0];
    const name = names.get(text) ?? text.replace(/\s+/g, ' ').trim();
    const most = longPages.find(({ statement }) => statement.test(name))?.rows;
    if (after.rows <= (most ?? 2 * rows + 20) && after.pages <= 2 * Math.max(pages, most ?? 0) + 150 + after.rows)
      continue;
    found.push(
      `${name}: ${rows} rows and ${pages} pages, ${after.rows} and ${after.pages}\n  ${stepsOf(after.plan).join('\n  ')}`,
    );
  }
  return found;
}

function namesByText(): Map<string, string> {
  const names = new Map<string, string>();
  for (const statement of declaredStatements()) {
    names.set(statement.text, nameOnly(statement.name));
    if (statement.kind === 'scoped' && statement.read) names.set(statement.read.text, nameOnly(statement.name));
  }
  return names;
}

function nameOnly(name: string): string {
  return name.includes(':') ? name.slice(0, name.lastIndexOf(':')) : name;
}

function stepsOf(node: PlanNode): string[] {
  const what = [node['Node Type'], node['Index Name'] ?? node['Relation Name'], node['Index Cond'], node.Filter];
  const rows = `${node['Actual Rows']} × ${node['Actual Loops']}`;
  const dropped = node['Rows Removed by Filter'];
  const own = [...what, rows, dropped ? `dropped ${dropped}` : undefined, `pages ${node['Shared Hit Blocks']}`];
  return [own.filter(Boolean).join(' | '), ...(node.Plans ?? []).flatMap(stepsOf).map((step) => `  ${step}`)];
}
