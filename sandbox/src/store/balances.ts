import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { missingRecord } from '../refusal.ts';
import type { PageQuery } from './records.ts';

// What became available on a day is paid out at its end.
const dayMs = 24 * 60 * 60 * 1_000;

/** A movement on the balance that a payout takes. */
export interface UnpaidMovement {
  readonly id: string;
  readonly net: number;
}

/** Which movements on the balance were paid out, by what, and when what remains is to be: by the clock of the keys. */
export interface Balances {
  add(movement: UnpaidMovement & { readonly account: string }, paidOutAtMs: number): void;
  /** Accounts with movements whose time has come, at most `limit`. */
  due(nowMs: number, limit: number): string[];
  /** What an account has to pay out by then, oldest first, at most `limit`. */
  unpaid(account: string, byMs: number, limit: number): UnpaidMovement[];
  /** All that an account has, and how much of it is not available yet by then. */
  total(account: string, nowMs: number): { amount: number; pending: number };
  /** Notes that a payout took these movements. */
  payOut(payout: string, movements: readonly UnpaidMovement[]): void;
  /** Puts movements off that a payout cannot take. */
  putOff(movements: readonly UnpaidMovement[], toMs: number): void;
  /** Ids of the movements of a payout, newest first, and whether there are more. */
  page(payout: string, query: PageQuery): { ids: string[]; hasMore: boolean };
  /** Notes when a payout arrives at its bank. */
  send(payout: { readonly id: string; readonly account: string }, arrivesAtMs: number): void;
  /** Payouts that have arrived, at most `limit`. */
  arrived(nowMs: number, limit: number): { id: string; account: string }[];
  /** Notes that a payout is at its bank, or will never be. */
  settle(payout: string): void;
}

export function openBalances(db: DatabaseSync): Balances {
  db.exec(`
    create table if not exists balance_movements (
      seq integer primary key, id text not null unique, account text not null, net integer not null, due_at_ms integer not null, payout text);
    create index if not exists unpaid_movements on balance_movements (account, due_at_ms) where payout is null;
    create index if not exists unpaid_movements_by_time on balance_movements (due_at_ms) where payout is null;
    create index if not exists movements_of_payouts on balance_movements (payout, seq) where payout is not null;
    create table if not exists sent_payouts (id text primary key, account text not null, arrives_at_ms integer not null) without rowid;
    create index if not exists sent_payouts_by_time on sent_payouts (arrives_at_ms);
  `);
  const add = db.prepare('insert into balance_movements (id, account, net, due_at_ms) values (?, ?, ?, ?)');
  const due = db.prepare(
    `select distinct account from (select account from balance_movements where payout is null and due_at_ms <= ?
       order by due_at_ms limit ?)`,
  );
  const unpaid = db.prepare(
    `select id, net from balance_movements where account = ? and payout is null and due_at_ms <= ? order by due_at_ms, seq limit ?`,
  );
  const total = db.prepare(
    `select coalesce(sum(net), 0) as amount, coalesce(sum(net) filter (where due_at_ms > ?), 0) as pending
       from balance_movements where account = ? and payout is null`,
  );
  const payOut = db.prepare('update balance_movements set payout = ? where id in (select value from json_each(?))');
  const putOff = db.prepare('update balance_movements set due_at_ms = ? where id in (select value from json_each(?))');
  const seqOf = db.prepare('select seq from balance_movements where id = ? and payout = ?');
  const newest = db.prepare('select id from balance_movements where payout = ? and seq < ? order by seq desc limit ?');
  const send = db.prepare('insert into sent_payouts (id, account, arrives_at_ms) values (?, ?, ?)');
  const arrived = db.prepare(
    'select id, account from sent_payouts where arrives_at_ms <= ? order by arrives_at_ms, id limit ?',
  );
  const settle = db.prepare('delete from sent_payouts where id = ?');
  const idsOf = (movements: readonly UnpaidMovement[]) => JSON.stringify(movements.map(({ id }) => id));
  return {
    add: ({ id, account, net }, paidOutAtMs) => {
      add.run(id, account, net, paidOutAtMs);
    },
    due: (nowMs, limit) => due.all(nowMs, limit).map(({ account }) => String(account)),
    unpaid: (account, byMs, limit) =>
      unpaid.all(account, byMs, limit).map(({ id, net }) => ({ id: String(id), net: Number(net) })),
    total: (account, nowMs) => {
      const row = total.get(nowMs + dayMs, account);
      return { amount: Number(row?.amount), pending: Number(row?.pending) };
    },
    payOut: (payout, movements) => {
      payOut.run(payout, idsOf(movements));
    },
    putOff: (movements, toMs) => {
      putOff.run(toMs, idsOf(movements));
    },
    page: (payout, { limit, startingAfter }) => {
      const before = startingAfter === undefined ? Number.MAX_SAFE_INTEGER : placeOf(seqOf, payout, startingAfter);
      const ids = newest.all(payout, before, limit + 1).map(({ id }) => String(id));
      return { ids: ids.slice(0, limit), hasMore: ids.length > limit };
    },
    send: ({ id, account }, arrivesAtMs) => {
      send.run(id, account, arrivesAtMs);
    },
    arrived: (nowMs, limit) =>
      arrived.all(nowMs, limit).map(({ id, account }) => ({ id: String(id), account: String(account) })),
    settle: (payout) => {
      settle.run(payout);
    },
  };
}

function placeOf(seqOf: StatementSync, payout: string, id: string): number {
  const row = seqOf.get(id, payout);
  if (row === undefined) throw missingRecord('balance transaction', id.slice(0, 80), 'starting_after', 400);
  return Number(row.seq);
}
