import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A folder of `.sql` files that are applied in the order of their names. `name` sets it apart from the schema's other sources. */
export interface MigrationSource {
  readonly name: string;
  readonly directory: string;
}

/** One file of a source. */
export interface Migration {
  /** `<source>/<file>`, as the history table has it. */
  readonly id: string;
  readonly sql: string;
  readonly checksum: string;
  /** Whether its statements run outside a transaction, as CREATE INDEX CONCURRENTLY must. */
  readonly noTransaction: boolean;
  /** Whether it declares that nothing reads any more what it drops or renames. */
  readonly contract: boolean;
  /** Why what it changes or copies of tables that it did not create is little, in every installation. */
  readonly fewRows?: string;
}

/** A source from a folder beside the module: `migrationSource('catalog', new URL('../migrations', import.meta.url))`. */
export function migrationSource(name: string, directory: URL | string): MigrationSource {
  return { name, directory: typeof directory === 'string' ? directory : fileURLToPath(directory) };
}

/** Reads every file of the sources, in the order in which they are applied. */
export async function readMigrations(sources: readonly MigrationSource[]): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const { name, directory } of sources) {
    const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
    for (const file of files)
      migrations.push(parseMigration(`${name}/${file}`, await readFile(join(directory, file), 'utf8')));
  }
  return migrations;
}

/** A migration from its text; the headers are comments of the form `-- eligo: no-transaction, contract`, or `-- eligo: few-rows: the reason`. */
export function parseMigration(id: string, sql: string): Migration {
  const headers = new Set<string>();
  let fewRows: string | undefined;
  for (const [, list = ''] of sql.matchAll(/^--\s*eligo:\s*(.+)$/gm)) {
    const reason = /^few-rows(?::(.*))?$/.exec(list.trim());
    if (reason === null) for (const word of list.split(',')) headers.add(word.trim());
    else fewRows = reason[1]?.trim() ?? '';
  }
  if (fewRows === '')
    throw new Error(`${id}: the header few-rows needs a reason: "-- eligo: few-rows: one for each account"`);
  for (const header of headers) {
    if (header !== 'no-transaction' && header !== 'contract') throw new Error(`${id}: unknown header "${header}"`);
  }
  return {
    id,
    sql,
    checksum: createHash('sha256').update(sql).digest('hex'),
    noTransaction: headers.has('no-transaction'),
    contract: headers.has('contract'),
    ...(fewRows === undefined ? {} : { fewRows }),
  };
}
