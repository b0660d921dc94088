import { eventsMigrations } from '@eligo/events';
import { serviceNames } from '@eligo/stack';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keepNothingFromRetention } from '../src/growth/records.ts';

const services = ['gateway', ...serviceNames];
const databases: TestDatabase[] = [];
let sides: { few: TestDatabase; many: TestDatabase };
beforeAll(async () => {
  const open = async () => {
    const made = await testDatabase(...services.map((name) => ({ name, migrations: [eventsMigrations] })));
    databases.push(made);
    return made;
  };
  sides = { few: await open(), many: await open() };
});
afterAll(() => Promise.all(databases.map((one) => one.drop())));

it('both accounts give retention the same number of events to look at, however many copies of an event they have', async () => {
  const lookedAt = async (side: TestDatabase, copies: number) => {
    // Forty events and the copies of each: of the first, `copies` have lower identifiers than the first that was published lately.
    await side.admin(
      `insert into checkout.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload, created_at)
       select 'fevt_' || lpad(n::text, 4, '0') || lpad(copy::text, 6, '0'), n || 'of' || copy, 1, 't', 'facct_a', true, '', now()
       from generate_series(1, 40) n cross join generate_series(1, $1) copy`,
      [copies],
    );
    await side.admin('delete from checkout.outbox_queue');
    await side.admin(
      `insert into checkout.outbox_positions (minute, last_seq, oldest_event_id, oldest_new_event_id)
       values (date_trunc('minute', now()), 40, 'fevt_0001999999', 'fevt_0001999999')`,
    );
    await side.admin('vacuum analyze checkout.outbox');
    // A client and not a pool, whose end does not wait for the server: dropping the database would then end a connection that nobody listens to.
    const connection = new pg.Client(side.adminUrl);
    await connection.connect();
    try {
      await keepNothingFromRetention(connection);
      await connection.query('begin');
      await connection.query('set local enable_seqscan = off');
      await connection.query('select checkout.prune_events(14, 46, 5000)');
      const { rows } = await connection.query<{ rows: number }>(
        `select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relid = 'checkout.outbox'::regclass`,
      );
      await connection.query('rollback');
      return rows[0]?.rows;
    } finally {
      await connection.end();
    }
  };
  expect([await lookedAt(sides.few, 30), await lookedAt(sides.many, 300)]).toEqual([100, 100]);
});
