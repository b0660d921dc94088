import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { missingRecord } from '../refusal.ts';
import type { RecordKind, RecordOf } from './record-types.ts';

export interface PageQuery {
  /** 1 to 100. */
  limit: number;
  startingAfter?: string | undefined;
  endingBefore?: string | undefined;
  /** The record that the listed ones hang on: charges on an intent, refunds on a charge, methods on a customer. */
  parent?: string | undefined;
  /** Any of several, at most 20. */
  parents?: readonly string[] | undefined;
  createdFrom?: number | undefined;
  createdBefore?: number | undefined;
}

/** Newest first, as every list of Stripe's. */
export interface Page<Kind extends RecordKind> {
  records: RecordOf<Kind>[];
  hasMore: boolean;
}

export interface Records {
  insert<Kind extends RecordKind>(kind: Kind, record: RecordOf<Kind>, parent?: string): void;
  update<Kind extends RecordKind>(kind: Kind, record: RecordOf<Kind>, parent?: string): void;
  remove(kind: RecordKind, account: string, id: string): void;
  find<Kind extends RecordKind>(kind: Kind, account: string, id: string): RecordOf<Kind> | undefined;
  /** A record by its id alone, whatever its account: for the bank's side of things. */
  locate<Kind extends RecordKind>(kind: Kind, id: string): RecordOf<Kind> | undefined;
  /** As `find`, but a missing record is a refusal that names the parameter which asked for it. */
  need<Kind extends RecordKind>(
    kind: Kind,
    account: string,
    id: string,
    param?: string,
    status?: number,
  ): RecordOf<Kind>;
  children<Kind extends RecordKind>(kind: Kind, account: string, parent: string): RecordOf<Kind>[];
  page<Kind extends RecordKind>(kind: Kind, account: string, query: PageQuery): Page<Kind>;
  /**
   * Deletes events older than a time (Unix seconds): looks at `limit` records of that age at the most, going on where the last call stopped,
   * and gives how many those were.
   */
  purgeEvents(createdBefore: number, limit: number): number;
  /** Every record of a kind, of all accounts or of one, oldest first, from behind one of them if it is given, read as it is consumed. */
  all<Kind extends ListedKind>(kind: Kind, account?: string, afterId?: string): Generator<RecordOf<Kind>>;
  indexMetadata(account: string, id: string, metadata: Record<string, string>, previous?: Record<string, string>): void;
  /** Ids of the intents that carry this metadata pair, newest first. */
  idsByMetadata(account: string, key: string, value: string, limit: number): string[];
}

/** The kinds that are listed over all accounts, each by an index of its own. */
export type ListedKind = 'charge' | 'refund' | 'webhook_endpoint' | 'file';

const childLimit = 1000;
const scanSize = 500;

/** The records of every account in one table: what they are is in `body`, what they are found by in the columns. */
export function openRecords(db: DatabaseSync): Records {
  db.exec(`
    create table if not exists records (
      seq integer primary key, id text not null unique, account text not null, kind text not null,
      created integer not null, parent text, body text not null);
    create index if not exists records_by_kind on records (account, kind, seq);
    create index if not exists records_by_parent on records (parent, kind, seq) where parent is not null;
    create index if not exists records_of_charges on records (seq) where kind = 'charge';
    create index if not exists records_of_refunds on records (seq) where kind = 'refund';
    create index if not exists records_of_files on records (seq) where kind = 'file';
    create index if not exists records_of_endpoints on records (seq) where kind = 'webhook_endpoint';
    create table if not exists intent_metadata (
      account text not null, key text not null, value text not null, id text not null,
      primary key (account, key, value, id)) without rowid;
  `);
  const insert = db.prepare('insert into records (id, account, kind, created, parent, body) values (?, ?, ?, ?, ?, ?)');
  const update = db.prepare('update records set body = ? where id = ?');
  const updateWithParent = db.prepare('update records set body = ?, parent = ? where id = ?');
  const remove = db.prepare('delete from records where id = ? and account = ? and kind = ?');
  const byId = db.prepare('select body from records where id = ? and account = ? and kind = ?');
  const byIdAlone = db.prepare('select body from records where id = ? and kind = ?');
  const byParent = db.prepare(
    `select body from records where parent = ? and kind = ? and account = ? order by seq limit ${childLimit}`,
  );
  const seqOf = db.prepare('select seq from records where id = ? and account = ? and kind = ?');
  const seqOfId = db.prepare('select seq from records where id = ? and kind = ?');
  // The kind is part of the text, so that the index of that kind is used.
  const scanOf = (kind: ListedKind) =>
    db.prepare(`select seq, body from records where seq > ? and kind = '${kind}' order by seq limit ?`);
  const scans = {
    ...{ charge: scanOf('charge'), refund: scanOf('refund'), file: scanOf('file') },
    webhook_endpoint: scanOf('webhook_endpoint'),
  };
  const scanOfAccount = db.prepare(
    'select seq, body from records where account = ? and kind = ? and seq > ? order by seq limit ?',
  );
  // All pairs of an intent by one statement.
  const addMetadata = db.prepare(
    'insert or ignore into intent_metadata (account, key, value, id) select ?, key, value, ? from json_each(?)',
  );
  const clearMetadata = db.prepare(
    'delete from intent_metadata where account = ? and id = ? and key = ? and value = ?',
  );
  const byMetadata = db.prepare(
    'select id from intent_metadata where account = ? and key = ? and value = ? order by id desc limit ?',
  );
  const oldest = db.prepare('select seq, kind, created from records where seq > ? order by seq limit ?');
  const removeBySeq = db.prepare('delete from records where seq = ?');
  let purgedTo = 0;
  const pages = new Map<string, StatementSync>();

  function find<Kind extends RecordKind>(kind: Kind, account: string, id: string): RecordOf<Kind> | undefined {
    const row = byId.get(id, account, kind);
    return row === undefined ? undefined : parse<Kind>(row);
  }

  function placeOf(kind: RecordKind, id: string): number {
    const row = seqOfId.get(id, kind);
    if (row === undefined) throw missingRecord(kind, id.slice(0, 80), 'starting_after', 400);
    return Number(row.seq);
  }

  return {
    insert: (kind, record, parent) => {
      insert.run(record.id, record.account, kind, record.created, parent ?? null, JSON.stringify(record));
    },
    update: (_kind, record, parent) => {
      if (parent === undefined) update.run(JSON.stringify(record), record.id);
      else updateWithParent.run(JSON.stringify(record), parent === '' ? null : parent, record.id);
    },
    remove: (kind, account, id) => {
      remove.run(id, account, kind);
    },
    find,
    locate: <Kind extends RecordKind>(kind: Kind, id: string) => {
      const row = byIdAlone.get(id, kind);
      return row === undefined ? undefined : parse<Kind>(row);
    },
    need: (kind, account, id, param, status) => {
      const record = find(kind, account, id);
      if (record === undefined) throw missingRecord(kind, id.slice(0, 80), param, status);
      return record;
    },
    children: <Kind extends RecordKind>(kind: Kind, account: string, parent: string) =>
      byParent.all(parent, kind, account).map(parse<Kind>),
    page: (kind, account, query) => readPage(db, pages, seqOf, kind, account, query),
    purgeEvents: (createdBefore, limit) => {
      let lookedAt = 0;
      for (const row of oldest.all(purgedTo, limit)) {
        if (Number(row.created) >= createdBefore) break;
        purgedTo = Number(row.seq);
        lookedAt += 1;
        if (row.kind === 'event') removeBySeq.run(purgedTo);
      }
      return lookedAt;
    },
    all: function* <Kind extends ListedKind>(kind: Kind, account?: string, afterId?: string) {
      for (let after = afterId === undefined ? 0 : placeOf(kind, afterId); ; ) {
        const rows =
          account === undefined ? scans[kind].all(after, scanSize) : scanOfAccount.all(account, kind, after, scanSize);
        for (const row of rows) yield parse<Kind>(row);
        const last = rows.at(-1);
        if (last === undefined || rows.length < scanSize) return;
        after = Number(last.seq);
      }
    },
    indexMetadata: (account, id, metadata, previous = {}) => {
      for (const [key, value] of Object.entries(previous)) {
        if (metadata[key] !== value) clearMetadata.run(account, id, key, value);
      }
      addMetadata.run(account, id, JSON.stringify(metadata));
    },
    idsByMetadata: (account, key, value, limit) =>
      byMetadata.all(account, key, value, limit).map((row) => String(row.id)),
  };
}

function readPage<Kind extends RecordKind>(
  db: DatabaseSync,
  statements: Map<string, StatementSync>,
  seqOf: StatementSync,
  kind: Kind,
  account: string,
  query: PageQuery,
): Page<Kind> {
  const conditions = ['account = ?', 'kind = ?'];
  const values: (string | number)[] = [account, kind];
  const add = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  const cursor = (id: string | undefined, param: string): number | undefined => {
    if (id === undefined) return undefined;
    const row = seqOf.get(id, account, kind);
    if (row === undefined) throw missingRecord(kind, id.slice(0, 80), param, 400);
    return Number(row.seq);
  };
  add('parent = ?', query.parent);
  add('created >= ?', query.createdFrom);
  add('created < ?', query.createdBefore);
  add('seq < ?', cursor(query.startingAfter, 'starting_after'));
  add('seq > ?', cursor(query.endingBefore, 'ending_before'));
  const backwards = query.endingBefore !== undefined;
  const order = `order by seq ${backwards ? 'asc' : 'desc'} limit ?`;
  const select = `select seq, body from records where ${conditions.join(' and ')}`;
  const { parents } = query;
  const most = query.limit + 1;
  // A page of each parent by its index, of which the page is the first part.
  const ofParents = parents?.map(() => `select * from (${select} and parent = ? ${order})`).join(' union all ');
  const text = ofParents === undefined ? `${select} ${order}` : `select seq, body from (${ofParents}) ${order}`;
  const statement = statements.get(text) ?? db.prepare(text);
  statements.set(text, statement);
  const given = parents === undefined ? values : parents.flatMap((parent) => [...values, parent, most]);
  const rows = parents?.length === 0 ? [] : statement.all(...given, most);
  const records = rows.slice(0, query.limit).map(parse<Kind>);
  return { records: backwards ? records.reverse() : records, hasMore: rows.length > query.limit };
}

function parse<Kind extends RecordKind>(row: Record<string, unknown>): RecordOf<Kind> {
  return JSON.parse(String(row.body));
}
