import pg from 'pg';
import type { Statement } from './statement.ts';

/** A step of a statement's plan that reads a whole table or a whole index. */
export interface FullScan {
  readonly statement: string;
  /** `Seq Scan`, or the kind of index scan that has no condition on the index. */
  readonly step: string;
  readonly relation: string;
}

/**
 * The steps by which a statement would read everything there is, whatever its values: planned with sequential scans priced out, so that one
 * that is left means that no index serves. `url` connects as the service's own role, so that row-level security is part of the plan.
 */
export async function fullScans(
  url: string,
  schema: string,
  statements: readonly Statement<unknown>[],
): Promise<FullScan[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'full scans' });
  client.on('error', (error) => process.emitWarning(`planning: ${error.message}`));
  await client.connect();
  try {
    await client.query(`set search_path = ${client.escapeIdentifier(schema)}; set enable_seqscan = off`);
    const found: FullScan[] = [];
    for (const statement of statements) {
      const text = statement.kind === 'scoped' ? (statement.read?.text ?? statement.text) : statement.text;
      // A generic plan needs no values.
      const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `explain (generic_plan, format json) ${text}`,
      );
      for (const { Plan } of rows[0]?.['QUERY PLAN'] ?? []) collect(Plan, statement.name, found);
    }
    return found;
  } finally {
    await client.end();
  }
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

function collect(node: PlanNode, statement: string, found: FullScan[]): void {
  const step = node['Node Type'];
  const isFull =
    step === 'Seq Scan' || (/^(Index|Index Only|Bitmap Index) Scan$/.test(step) && node['Index Cond'] === undefined);
  if (isFull) found.push({ statement, step, relation: node['Relation Name'] ?? '' });
  for (const inner of node.Plans ?? []) collect(inner, statement, found);
}
