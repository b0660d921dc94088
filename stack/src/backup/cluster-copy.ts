import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectionTo } from '@eligo/postgres/connection';
import pg from 'pg';

/** What a copy of a running cluster is: whose version it is, and from where to where its log goes. */
export interface ClusterCopy {
  readonly version: string;
  readonly startLsn: string;
  readonly endLsn: string;
}

/**
 * Copies the data folder of a running Postgres by its low-level backup functions, as pg_basebackup does, which the embedded server comes without. The log
 * (WAL) is copied last, inside `whileLogIsCopied`: everything that is committed when that begins is in the copy.
 */
export async function copyCluster(
  adminUrl: string,
  target: string,
  whileLogIsCopied: (copyLog: () => Promise<void>) => Promise<void>,
): Promise<ClusterCopy> {
  const client = new pg.Client({ ...connectionTo(adminUrl), application_name: 'eligo backup' });
  client.on('error', (error) => process.emitWarning(`backup: ${error.message}`));
  await client.connect();
  const value = async (sql: string, values: unknown[] = []) =>
    (await client.query<{ value: string }>(sql, values)).rows[0]?.value ?? '';
  try {
    const data = await value('select setting as value from pg_settings where name = $1', ['data_directory']);
    if (!existsSync(join(data, 'PG_VERSION'))) {
      throw new Error(
        'The database is not on this machine; back it up with pg_dump as docs/operations.md says, or by your provider',
      );
    }
    // Keeps the log from being recycled; the server drops the slot with this session, also when it is cut off.
    await client.query('select pg_create_physical_replication_slot($1, true, true)', [`eligo_backup_${process.pid}`]);
    const startLsn = await value("select pg_backup_start('eligo', fast => true)::text as value");
    const firstSegment = await value('select pg_walfile_name($1::pg_lsn) as value', [startLsn]);
    await copyFolder(data, target, isCopied);
    await copyControlFile(data, target);
    const { rows } = await client.query<{ lsn: string; label: string }>(
      'select lsn::text, labelfile as label from pg_backup_stop(wait_for_archive => false)',
    );
    await writeFile(join(target, 'backup_label'), rows[0]?.label ?? '', { mode: 0o600 });
    const stopSegment = await value('select pg_walfile_name($1::pg_lsn) as value', [rows[0]?.lsn]);
    await whileLogIsCopied(() => copyLog(client, data, target, [firstSegment, stopSegment]));
    return {
      version: await value("select current_setting('server_version') as value"),
      startLsn,
      endLsn: await value('select pg_current_wal_flush_lsn()::text as value'),
    };
  } finally {
    await client.end();
  }
}

/** Folders whose content the server makes anew when it starts; the manual names them for backups. */
const emptied = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const left = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init', 'backup_label', 'tablespace_map']);

function isCopied(path: readonly string[]): boolean {
  const name = path.at(-1) ?? '';
  if (path.length > 1 && emptied.has(path[0] ?? ''))
    return path.length === 2 && path.join('/') === 'pg_wal/archive_status';
  // The control file follows by itself, after all others.
  return !left.has(name) && !name.startsWith('pgsql_tmp') && path.join('/') !== 'global/pg_control';
}

// A table may be dropped while the copy runs; its file is in no later log record that needs it.
async function copyFolder(
  source: string,
  target: string,
  wanted: (path: readonly string[]) => boolean,
  path: readonly string[] = [],
): Promise<void> {
  await mkdir(join(target, ...path), { recursive: true, mode: 0o700 });
  for (const entry of await readdir(join(source, ...path), { withFileTypes: true })) {
    const inside = [...path, entry.name];
    if (!wanted(inside)) continue;
    if (entry.isDirectory()) await copyFolder(source, target, wanted, inside);
    else if (entry.isFile()) await copyUnlessGone(join(source, ...inside), join(target, ...inside));
  }
}

async function copyUnlessGone(source: string, target: string): Promise<void> {
  try {
    await copyFile(source, target);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    return;
  }
  await chmod(target, 0o600);
}

const controlFileReads = 100;

// The log repairs every file but this one: two equal reads met no write.
async function copyControlFile(source: string, target: string): Promise<void> {
  const path = join(source, 'global', 'pg_control');
  let last = await readFile(path);
  for (let reads = 0; reads < controlFileReads; reads += 1) {
    const again = await readFile(path);
    if (again.equals(last)) return writeFile(join(target, 'global', 'pg_control'), again, { mode: 0o600 });
    last = again;
  }
  throw new Error('The control file of Postgres keeps changing; try again');
}

// Segments have names in the order of the log. What is past its end in the last one fails the checks of a replay. `needed` is what the copy of the files
// needs to be whole.
async function copyLog(client: pg.Client, data: string, target: string, needed: readonly string[]): Promise<void> {
  const [first = ''] = needed;
  const { rows } = await client.query<{ last: string }>('select pg_walfile_name(pg_current_wal_flush_lsn()) as last');
  const last = rows[0]?.last ?? '';
  const folder = join(data, 'pg_wal');
  const names = (await readdir(folder)).filter(
    (name) => /\.history$/.test(name) || (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last),
  );
  for (const name of names) await copyUnlessGone(join(folder, name), join(target, 'pg_wal', name));
  const missing = needed.find((name) => !names.includes(name));
  if (missing !== undefined)
    throw new Error(`Postgres has recycled ${missing} of its log during the backup; try again`);
}
