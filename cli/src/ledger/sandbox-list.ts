import { type Database, openSession, type Session } from '@eligo/postgres';
import { sandboxAccountOf } from '@eligo/processor';
import type { Rows } from './ranges.ts';

/** What the processor has: the independent witness, as `/sandbox/charges` and `/sandbox/refunds` list it, oldest first, in pages. */
export interface ProcessorList {
  charges(): AsyncIterable<readonly unknown[]>;
  refunds(): AsyncIterable<readonly unknown[]>;
}

/** Where the sandbox is, and the key to its list. */
export interface Sandbox {
  readonly url: string;
  readonly key: string;
}

/** Half a megabyte. */
const page = 1_000;
// A page takes the sandbox some milliseconds.
const pageMs = 30_000;

/** The list of a sandbox. */
export function listOfSandbox({ url, key }: Sandbox): ProcessorList {
  async function* pagesOf(noun: string): AsyncGenerator<readonly unknown[]> {
    for (let after: string | undefined; ; ) {
      const place = new URL(`/sandbox/${noun}`, url);
      place.searchParams.set('limit', String(page));
      if (after !== undefined) place.searchParams.set('starting_after', after);
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(place, { headers, signal: AbortSignal.timeout(pageMs) });
      if (!answer.ok) throw new Error(`The sandbox returned ${answer.status} for its ${noun}`);
      const { data, has_more: hasMore } = (await answer.json()) as { data: { id: string }[]; has_more?: boolean };
      // An earlier release answers the whole list, whatever was asked for.
      for (let at = 0; at < data.length; at += page) yield data.slice(at, at + page);
      after = data.at(-1)?.id;
      if (hasMore !== true || after === undefined) return;
    }
  }
  return { charges: () => pagesOf('charges'), refunds: () => pagesOf('refunds') };
}

/** The sandbox's list in temporary tables of a session, page by page: nothing holds it whole but the database's disk. */
export class StoredList {
  readonly rows: Rows;
  readonly #session: Session;
  readonly #list: ProcessorList;

  private constructor(session: Session, list: ProcessorList) {
    this.#session = session;
    this.#list = list;
    this.rows = (_name, text, values) => session.query(text, values) as Promise<never[]>;
  }

  static async open(database: Database, list: ProcessorList): Promise<StoredList> {
    return new StoredList(await openSession(database, 'eligo ledger check'), list);
  }

  /** Reads the list anew. `onPage` is told of each page's rows. */
  async load(onPage: (of: string, rows: number) => void = () => undefined): Promise<void> {
    for (const statement of tables) await this.#session.query(statement);
    await this.#storePlaces();
    for (const [noun, store] of [
      ['charges', storeCharges],
      ['refunds', storeRefunds],
    ] as const) {
      let seq = 0;
      for await (const rows of this.#list[noun]()) {
        await this.#session.query(store, [seq, JSON.stringify(rows.map(comparedOf))]);
        seq += rows.length;
        onPage(`the sandbox's ${noun}`, rows.length);
      }
    }
    for (const table of ['places', 'charges', 'refunds']) await this.#session.query(`analyze pg_temp.sandbox_${table}`);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  // The sandbox's accounts are computed from Eligo's, and each record is found by Eligo's account: there is no index over all accounts.
  async #storePlaces(): Promise<void> {
    await this.#session.query(storePlacesOfFeeds);
    for (let after: readonly unknown[] = ['', false]; ; ) {
      const scopes = await this.#session.query<{ account_id: string; test_mode: boolean }>(selectScopes, after);
      const places = scopes.map(({ account_id, test_mode }) => {
        return { account_id, test_mode, account: sandboxAccountOf({ accountId: account_id, testMode: test_mode }) };
      });
      await this.#session.query(storePlaces, [JSON.stringify(places)]);
      const last = scopes.at(-1);
      if (last === undefined || scopes.length < page) return;
      after = [last.account_id, last.test_mode];
    }
  }
}

// A fifth of what the sandbox lists of it.
function comparedOf(row: unknown): object {
  const { id, account, amount, amount_captured, released, status, metadata } = row as Record<string, unknown>;
  const attempt = (metadata as Record<string, unknown> | null | undefined)?.attempt;
  return { id, account, amount, captured: amount_captured, released: released === true, status, attempt };
}

const tables = [
  'drop table if exists pg_temp.sandbox_places, pg_temp.sandbox_charges, pg_temp.sandbox_refunds',
  'create temporary table sandbox_places (account text collate "C" primary key, account_id text collate "C" not null, test_mode boolean not null)',
  `create temporary table sandbox_charges (seq bigint primary key, account_id text collate "C", test_mode boolean, id text collate "C", amount bigint,
     captured bigint, released boolean not null, status text, attempt_id text collate "C", subject_id text collate "C", leg text)`,
  `create temporary table sandbox_refunds (seq bigint primary key, account_id text collate "C", test_mode boolean, id text collate "C", amount bigint,
     status text, attempt_id text collate "C")`,
  // Before the rows, so that no statement is about all of them.
  'create index on pg_temp.sandbox_charges (attempt_id)',
  'create index on pg_temp.sandbox_charges (subject_id, leg)',
  'create index on pg_temp.sandbox_refunds (attempt_id)',
];

const storePlacesOfFeeds = `insert into pg_temp.sandbox_places (account, account_id, test_mode)
  select processor_account, account_id, test_mode from refunds.ledger_feeds where processor = 'sandbox' on conflict do nothing`;

// One step of the index for each account and mode.
const selectScopes = `with recursive scope as (
    (select account_id, test_mode from checkout.charge_attempts where (account_id, test_mode) > ($1, $2::boolean)
      order by account_id, test_mode limit 1)
    union all
    select n.account_id, n.test_mode from scope s
    cross join lateral (select a.account_id, a.test_mode from checkout.charge_attempts a
      where (a.account_id, a.test_mode) > (s.account_id, s.test_mode) order by a.account_id, a.test_mode limit 1) n
  )
  select account_id, test_mode from scope limit ${page}`;

const storePlaces = `insert into pg_temp.sandbox_places (account, account_id, test_mode)
  select p ->> 'account', p ->> 'account_id', (p ->> 'test_mode')::boolean from jsonb_array_elements($1::jsonb) p on conflict do nothing`;

// A charge belongs to what its attempt pays: a leg of a session or of an invoice.
const storeCharges = `insert into pg_temp.sandbox_charges
  select $1::bigint + c.n, w.account_id, w.test_mode, c.id, c.amount, c.captured, c.released, c.status, c.attempt, coalesce(a.subject_id, c.attempt, c.id),
    coalesce(a.leg, 'none')
  from rows from (jsonb_to_recordset($2::jsonb) as (id text, account text, amount bigint, captured bigint, released boolean, status text, attempt text))
    with ordinality c (id, account, amount, captured, released, status, attempt, n)
  left join pg_temp.sandbox_places w on w.account = c.account
  left join lateral (select a.subject_id, a.leg from checkout.charge_attempts a
    where (a.account_id, a.test_mode, a.id) = (w.account_id, w.test_mode, c.attempt) offset 0) a on true`;

const storeRefunds = `insert into pg_temp.sandbox_refunds
  select $1::bigint + r.n, w.account_id, w.test_mode, r.id, r.amount, r.status, r.attempt
  from rows from (jsonb_to_recordset($2::jsonb) as (id text, account text, amount bigint, status text, attempt text))
    with ordinality r (id, account, amount, status, attempt, n)
  left join pg_temp.sandbox_places w on w.account = r.account`;
