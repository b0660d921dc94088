import type pg from 'pg';

const part = '(?:"(?:[^"]|"")+"|[\\w$]+)';
const name = `(${part}(?:\\.${part})*)`;
const created = new RegExp(
  `^create\\s+(unique\\s+)?index\\s+concurrently\\s+(?!if\\s)(${part})\\s+on\\s+(?:only\\s+)?${name}`,
  'i',
);
const dropped = new RegExp(`^drop\\s+index\\s+concurrently\\s+(?!if\\s)${name}\\s*(?:cascade|restrict)?$`, 'i');

/**
 * Whether an earlier try of the file did this already. A file outside a transaction that failed or whose process died is run again from its first
 * statement, and the first releases have files that build an index without `if not exists` or drop one without `if exists`.
 */
export async function isIndexAsStated(client: pg.Client, statement: string): Promise<boolean> {
  const [, unique, index, table] = created.exec(statement) ?? [];
  if (index !== undefined && table !== undefined) {
    // An index lies in the schema of its table. One of that name on another table is left to the server to refuse.
    const { rows } = await client.query(
      `select 1 from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = to_regclass($1) and c.relname = (parse_ident($2))[1] and i.indisunique = $3 and i.indisvalid`,
      [table, index, unique !== undefined],
    );
    return rows.length > 0;
  }
  const [, gone] = dropped.exec(statement) ?? [];
  if (gone === undefined) return false;
  const { rows } = await client.query('select 1 where to_regclass($1) is null', [gone]);
  return rows.length > 0;
}
