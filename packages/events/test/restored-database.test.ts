import { expect, test } from 'vitest';
import { deleteStreams } from '../src/index.ts';
import { useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();

test('a database that was restored to an earlier moment publishes nothing beside its newer stream until an operator has the stream rebuilt [D14.217]', async () => {
  const first = await running();
  await appendSome(on.alpha, 60);
  await until(async () => (await on.effects()).events === 60);
  // The consumer may be done before the relay has written down that they are published.
  await until(async () => (await waiting()) === 0);
  await backUp();
  await appendSome(on.alpha, 40);
  await until(async () => (await on.effects()).events === 100);
  await first.stop();
  await restore();

  const relay = await on.relay();
  await appendSome(on.alpha, 10);
  await until(async () => relay.refusal() !== undefined);
  expect(relay.refusal()).toMatch(
    /^stream ELIGO_ALPHA holds event fevt_\w+, which the database does not have\. .* run: eligo events rebuild-streams$/,
  );
  const told = () => on.logger.lines.filter(({ message }) => message.startsWith('Publishing is blocked: stream'));
  expect(told()).toHaveLength(1);
  expect(await waiting()).toBe(10);

  await deleteStreams({ url: on.nats.url }, [
    { service: 'alpha', owner: { database: on.alpha } },
    { service: 'beta', owner: { database: on.beta } },
  ]);
  await until(async () => (await waiting()) === 0);
  await on.consumer();
  await until(async () => (await on.effects()).events === 70);
  expect(relay.refusal()).toBeUndefined();
  expect(await on.effects()).toEqual({ events: 70, effects: 70 });
  expect(told()).toHaveLength(1);
});

test('a consumer whose inbox was restored beside a stream that is not newer gets what it lacks once the stream is rebuilt [D14.217]', async () => {
  const relay = await on.relay();
  await appendSome(on.alpha, 30);
  await until(async () => (await waiting()) === 0);
  await backUp();
  const consumer = await on.consumer();
  await until(async () => (await on.effects()).events === 30);
  await consumer.stop();
  await restore();
  await on.consumer();
  expect(await on.effects()).toEqual({ events: 0, effects: 0 });
  await deleteStreams({ url: on.nats.url }, [{ service: 'alpha', owner: { database: on.alpha } }]);
  // The relay that leads sees it when it publishes next, or within ten seconds.
  await appendSome(on.alpha, 1);
  await until(async () => (await on.effects()).events === 31);
  expect(relay.refusal()).toBeUndefined();
  expect(await on.effects()).toEqual({ events: 31, effects: 31 });
});

test('an unreachable server is an error that says so', async () => {
  const place = { url: 'nats://127.0.0.1:1', withinMs: 200 };
  await expect(deleteStreams(place, [{ service: 'alpha', owner: { database: on.alpha } }])).rejects.toThrow(
    /^NATS is unreachable: /,
  );
});

test('a crash that forgot what was published is no restored database [D14.217]', async () => {
  const first = await running();
  await appendSome(on.alpha, 20);
  await until(async () => (await on.effects()).events === 20);
  await first.stop();
  await appendSome(on.alpha, 20);
  await backUp();
  const second = await running();
  await until(async () => (await on.effects()).events === 40);
  await until(async () => (await waiting()) === 0);
  await second.stop();
  await restore();

  const relay = await on.relay();
  await until(async () => (await waiting()) === 0);
  expect(relay.refusal()).toBeUndefined();
});

async function running(): Promise<{ stop(): Promise<void> }> {
  const [relay, consumer] = [await on.relay(), await on.consumer()];
  return {
    async stop() {
      await Promise.all([relay.stop(), consumer.stop()]);
    },
  };
}

async function waiting(): Promise<number> {
  const [row] = await on.database.admin<{ n: number }>('select count(*)::int as n from alpha.outbox_queue');
  return row?.n ?? 0;
}

const eachTable = (statements: string) => `do $$
  declare one record;
  begin
    perform set_config('session_replication_role', 'replica', true);
    create schema if not exists backup;
    for one in select schemaname as s, tablename as t, schemaname || '_' || tablename as copy
      from pg_tables where schemaname in ('alpha', 'beta') loop ${statements} end loop;
  end $$`;

/** Keeps all rows of both services as they are now. */
async function backUp(): Promise<void> {
  await on.database.admin(
    eachTable(`execute format('drop table if exists backup.%I', one.copy);
      execute format('create table backup.%I as table %I.%I', one.copy, one.s, one.t);`),
  );
}

/** Puts the rows back that were kept, as a restored server has them: without triggers. */
async function restore(): Promise<void> {
  await on.database.admin(
    eachTable(`execute format('truncate %I.%I', one.s, one.t);
      execute format('insert into %I.%I select * from backup.%I', one.s, one.t, one.copy);`),
  );
}
