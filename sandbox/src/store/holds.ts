import type { DatabaseSync } from 'node:sqlite';

/** A hold that is not captured or released yet. */
export interface Hold {
  readonly account: string;
  readonly intent: string;
}

/** When each hold lapses, by the clock of the keys: the wall clock and what `POST /sandbox/clock` has added to it. */
export interface Holds {
  add(hold: Hold, lapsesAtMs: number): void;
  remove(intent: string): void;
  isLapsed(intent: string, nowMs: number): boolean;
  /** The holds whose time is over, at most `limit`, the oldest first. */
  lapsed(nowMs: number, limit: number): Hold[];
}

export function openHolds(db: DatabaseSync): Holds {
  db.exec(`
    create table if not exists holds (intent text primary key, account text not null, lapses_at_ms integer not null) without rowid;
    create index if not exists holds_by_time on holds (lapses_at_ms);
  `);
  const add = db.prepare('insert or replace into holds (intent, account, lapses_at_ms) values (?, ?, ?)');
  const remove = db.prepare('delete from holds where intent = ?');
  const find = db.prepare('select 1 from holds where intent = ? and lapses_at_ms <= ?');
  const due = db.prepare(
    'select account, intent from holds where lapses_at_ms <= ? order by lapses_at_ms, intent limit ?',
  );
  return {
    add: ({ account, intent }, lapsesAtMs) => {
      add.run(intent, account, lapsesAtMs);
    },
    remove: (intent) => {
      remove.run(intent);
    },
    isLapsed: (intent, nowMs) => find.get(intent, nowMs) !== undefined,
    lapsed: (nowMs, limit) =>
      due.all(nowMs, limit).map((row) => ({ account: String(row.account), intent: String(row.intent) })),
  };
}
