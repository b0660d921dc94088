import type { DatabaseSync } from 'node:sqlite';

export interface Delivery {
  event: string;
  endpoint: string;
  account: string;
  endpointAccount: string;
  attempts: number;
}

export interface Deliveries {
  add(delivery: Omit<Delivery, 'attempts'>, nowMs: number): void;
  due(nowMs: number, limit: number): Delivery[];
  /** Milliseconds at which the next one falls due. */
  nextAt(): number | undefined;
  done(delivery: Delivery): void;
  retryAt(delivery: Delivery, atMs: number): void;
}

/** What still has to be delivered; a row is gone once its endpoint said 2xx, or once it was given up. */
export function openDeliveries(db: DatabaseSync): Deliveries {
  db.exec(`
    create table if not exists deliveries (
      event text not null, endpoint text not null, account text not null, endpoint_account text not null,
      attempts integer not null default 0, next_at integer not null, primary key (event, endpoint)) without rowid;
    create index if not exists deliveries_by_time on deliveries (next_at);
  `);
  const add = db.prepare(
    'insert into deliveries (event, endpoint, account, endpoint_account, next_at) values (?, ?, ?, ?, ?)',
  );
  const due = db.prepare('select * from deliveries where next_at <= ? order by next_at limit ?');
  const next = db.prepare('select min(next_at) as next_at from deliveries');
  const done = db.prepare('delete from deliveries where event = ? and endpoint = ?');
  const retry = db.prepare(
    'update deliveries set attempts = attempts + 1, next_at = ? where event = ? and endpoint = ?',
  );
  return {
    add: (delivery, nowMs) => {
      add.run(delivery.event, delivery.endpoint, delivery.account, delivery.endpointAccount, nowMs);
    },
    due: (nowMs, limit) =>
      due.all(nowMs, limit).map((row) => ({
        event: String(row.event),
        endpoint: String(row.endpoint),
        account: String(row.account),
        endpointAccount: String(row.endpoint_account),
        attempts: Number(row.attempts),
      })),
    nextAt: () => {
      const at = next.get()?.next_at;
      return at === null || at === undefined ? undefined : Number(at);
    },
    done: (delivery) => {
      done.run(delivery.event, delivery.endpoint);
    },
    retryAt: (delivery, atMs) => {
      retry.run(atMs, delivery.event, delivery.endpoint);
    },
  };
}
