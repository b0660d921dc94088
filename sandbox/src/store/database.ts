import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newRecordId } from './ids.ts';

export interface Database {
  db: DatabaseSync;
  /** The write-ahead log, which whoever commits has to sync before acknowledging (`group-commit.ts`). */
  logFile: string;
  /** The platform's own account, made when the home is first opened. */
  platformAccount: string;
  /** How far the key-retention clock runs ahead of the wall clock, in milliseconds; it survives a restart. */
  keyClockAheadMs(): number;
  advanceKeyClock(ms: number): number;
  close(): void;
}

/** Opens the sandbox's home. A second process on the same home is refused. */
export function openDatabase(home: string): Database {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const file = join(home, 'sandbox.sqlite');
  const db = new DatabaseSync(file, { timeout: 2000 });
  // An exclusive lock also keeps the WAL's index in memory instead of in a shared file.
  db.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal;');
  db.exec('pragma cache_size = -32768; pragma wal_autocheckpoint = 2000; pragma temp_store = memory;');
  db.exec('create table if not exists settings (name text primary key, value text not null) without rowid');
  const read = db.prepare('select value from settings where name = ?');
  const write = db.prepare(
    'insert into settings (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
  );
  const setting = (name: string): string | undefined => {
    const row = read.get(name);
    return row === undefined ? undefined : String(row.value);
  };
  let platformAccount = setting('platform_account');
  if (platformAccount === undefined) {
    platformAccount = newRecordId('acct', Date.now());
    write.run('platform_account', platformAccount);
  }
  // The log exists from the first write on.
  write.run('opened_at', new Date().toISOString());
  let ahead = Number(setting('key_clock_ahead_ms') ?? 0);
  return {
    db,
    logFile: `${file}-wal`,
    platformAccount,
    keyClockAheadMs: () => ahead,
    advanceKeyClock: (ms) => {
      write.run('key_clock_ahead_ms', String(ahead + ms));
      ahead += ms;
      return ahead;
    },
    close: () => db.close(),
  };
}
