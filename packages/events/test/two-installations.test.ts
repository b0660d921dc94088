import type { Database } from '@eligo/postgres';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connectNats, deleteStreams, natsServerConfig, watchProgress } from '../src/index.ts';
import { streamSettings } from '../src/stream-settings.ts';
import { openFixture, useFixture } from './fixture.ts';
import { natsProcess } from './nats-process.ts';
import { appendSome, type EventsDatabase, eventsDatabase, until } from './support.ts';

const on = useFixture();
let other: EventsDatabase;
beforeAll(async () => {
  other = await eventsDatabase();
});
afterAll(() => other.drop());

/** Another installation on the same NATS server. */
function openOther(url = on.nats.url) {
  const opened = openFixture(url, other);
  onTestFinished(() => opened.end());
  return opened;
}

const blocked = (fixture: { logger: { lines: { message: string }[] } }, what: string) =>
  fixture.logger.lines.filter(({ message }) => message.startsWith(`${what} is blocked: stream ELIGO_ALPHA`));
const descriptionOf = async () =>
  (await (await on.connect('admin')).manager.streams.info('ELIGO_ALPHA')).config.description;

async function describe(description: string, stream = 'ELIGO_ALPHA'): Promise<void> {
  const { manager } = await on.connect('admin');
  const { config } = await manager.streams.info(stream);
  await manager.streams.update(stream, { ...config, description });
}

const setUpOther = (at: string) => other.admin('update eligo.installation set created_at = $1', [at]);

/** The streams as the release before has them: without marks, and that of alpha used. */
async function unmarkedStreams(): Promise<void> {
  const ofBeta = await on.relay({ database: on.beta, service: 'beta', connection: await on.connect('beta') });
  const remembers = () => on.database.admin('select from beta.outbox_stream');
  await until(async () => (await remembers()).length === 1);
  await ofBeta.stop();
  await describe('', 'ELIGO_BETA');
  const relay = await on.relay();
  const consumer = await on.consumer();
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 5);
  await Promise.all([relay.stop(), consumer.stop()]);
  await describe('');
}

test('an installation that is given the NATS server of another one neither takes its events nor publishes into its stream [D14.317]', async () => {
  await on.relay();
  const consumer = await on.consumer();
  await appendSome(on.alpha, 20);
  await until(async () => (await on.effects()).events === 20);
  const beside = openOther();
  const foreign = await beside.consumer();
  const relay = await beside.relay();
  await appendSome(beside.alpha, 3);
  await until(() => relay.refusal() !== undefined && foreign.refusal() !== undefined);
  await appendSome(on.alpha, 200);
  await until(async () => (await on.effects()).events === 220);
  expect(await beside.effects()).toEqual({ events: 0, effects: 0 });
  expect(foreign.stats()).toEqual({ handled: 0, repeated: 0, failed: 0, deadLettered: 0 });
  expect(relay.stats().published).toBe(0);
  expect(consumer.refusal()).toBeUndefined();
  expect(relay.refusal()).toMatch(
    /^stream ELIGO_ALPHA belongs to another Eligo installation \(set up [\dT:.Z-]+\); this one is set up [\dT:.Z-]+\. Give this installation a NATS server or account of its own and set NATS_URL\. /,
  );
  expect(foreign.refusal()).toBe(relay.refusal());
  expect([blocked(beside, 'Publishing').length, blocked(beside, 'Consuming').length]).toEqual([1, 1]);

  // The other one's backlog is none of its own.
  await consumer.stop();
  await appendSome(on.alpha, 5);
  const { manager } = await on.connect('admin');
  await until(async () => (await manager.consumers.info('ELIGO_ALPHA', 'beta-effects')).num_pending === 5);
  expect([await consumer.lag(), await foreign.lag()]).toEqual([[expect.objectContaining({ pending: 5 })], []]);
  let clock = 1_000_000;
  const look = watchProgress(beside.alpha, await beside.connect('alpha'), 'alpha', () => clock);
  await look();
  clock += 500;
  const [{ age = 0 } = {}] = await other.admin<{ age: number }>(
    `select extract(epoch from now() - min(created_at))::float * 1000 as age from alpha.outbox`,
  );
  expect((await look()).behindMs).toBeLessThan(age + 500);

  // As the words say, once the other one is gone.
  await on.end();
  const remove = (deletedInstallation?: string) =>
    deleteStreams({ url: on.nats.url }, [{ service: 'alpha', owner: { database: beside.alpha, deletedInstallation } }]);
  const owner = /\((set up [^)]+)\)/.exec(relay.refusal() ?? '')?.[1];
  for (const given of [undefined, 'unmarked', 'set up 2026-01-02T03:04:05.678Z']) {
    await expect(remove(given)).rejects.toThrow(
      `Stream ELIGO_ALPHA belongs to another Eligo installation (${owner}). It was not deleted. If that installation is deleted, add --of-deleted-installation "${owner}"`,
    );
  }
  expect((await descriptionOf())?.endsWith(`${owner}`)).toBe(true);
  expect(relay.refusal()).toContain(`run: eligo events rebuild-streams --of-deleted-installation "${owner}"`);
  await remove(owner);
  await until(async () => (await beside.effects()).events === 3);
  expect([relay.refusal(), foreign.refusal()]).toEqual([undefined, undefined]);
});

test('an installation marks a stream that a release before created, and its consumers go on before that [D14.317]', async () => {
  await unmarkedStreams();
  const consumer = await on.consumer({ filterCheckMs: 50 });
  const { jetstream } = await on.connect('alpha');
  await jetstream.publish('eligo.alpha.test.undecodable', 'x');
  await until(() => on.logger.lines.some(({ message }) => message.startsWith('Event cannot be decoded')));
  expect(await descriptionOf()).toBeUndefined();
  // What a release before publishes beside it, this one's outbox does not have.
  await on.relay();
  await until(async () => (await descriptionOf())?.startsWith('Eligo installation: set up ') === true);
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 10);
  expect(consumer.refusal()).toBeUndefined();
});

test('a new database refuses a used stream without a mark, and its consumers take nothing from it [D14.317]', async () => {
  await unmarkedStreams();
  const beside = openOther();
  // It ran before, elsewhere.
  await other.admin(`insert into beta.inbox (consumer, event_id) values ('effects', 'fevt_before')`);
  await other.admin(`insert into beta.outbox_stream (stream, created) values ('ELIGO_BETA', '2026-01-02T03:04:05Z')`);
  const foreign = await beside.consumer({ unknownMs: 20 });
  const relay = await beside.relay();
  await appendSome(beside.alpha, 3);
  await until(() => relay.refusal() !== undefined);
  expect(relay.refusal()).toContain('was used before and this database does not know it');
  expect([relay.stats().published, foreign.stats().handled]).toEqual([0, 0]);
  expect(await descriptionOf()).toBeUndefined();
  await until(() => foreign.refusal() !== undefined);
  expect(foreign.refusal()).toContain(
    "names no installation and this database does not know it. If it is this installation's own, start alpha in this release",
  );
  // Its owner comes back in the new release: the stream is its own still.
  await on.relay();
  await on.consumer();
  await until(() => foreign.refusal()?.includes('belongs to another Eligo installation') === true);
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 10);
  expect(await beside.effects()).toEqual({ events: 0, effects: 0 });
});

test('a consumer leaves a stream that another installation marks while it takes from it [D14.317]', async () => {
  await unmarkedStreams();
  const consumer = await on.consumer({ filterCheckMs: 20 });
  const { manager } = await on.connect('admin');
  await until(async () => (await manager.consumers.info('ELIGO_ALPHA', 'beta-effects')).num_waiting > 0);
  await manager.streams.update('ELIGO_ALPHA', { ...streamSettings('alpha'), description: 'Eligo installation: other' });
  await until(() => consumer.refusal() !== undefined);
});

test('a consumer that reconnects to a server with the stream of another installation leaves it, and takes nothing [D14.317]', async () => {
  const relay = await on.relay();
  // No timer looks before the first event comes.
  const consumer = await on.consumer({ filterCheckMs: 600_000 });
  await appendSome(on.alpha, 1);
  await until(async () => (await on.effects()).events === 1);
  await relay.stop();
  await describe('Eligo installation: other');
  await on.nats.stop();
  await on.nats.start();
  const { jetstream, manager } = await on.connect('admin');
  await jetstream.publish('eligo.alpha.test.undecodable', 'x');
  await until(() => consumer.refusal() !== undefined);
  expect(on.logger.lines.filter(({ message }) => message.startsWith('Event cannot be decoded'))).toEqual([]);
  expect(consumer.stats()).toEqual({ handled: 1, repeated: 0, failed: 0, deadLettered: 0 });
  expect((await manager.consumers.info('ELIGO_ALPHA', 'beta-effects')).ack_floor.stream_seq).toBe(1);
});

test.each([
  ['that is older than its set-up', '2999-01-01', undefined],
  ['while its outbox remembers another one', '2000-01-01', '2026-01-02T03:04:05.678901234Z'],
])('an installation does not claim an unused stream without a mark %s [D14.317]', async (_, setUp, remembered) => {
  const [{ created_at } = {}] = await other.admin('select created_at::text from eligo.installation');
  onTestFinished(async () => {
    await setUpOther(String(created_at));
  });
  const relay = await on.relay();
  await until(async () => (await on.database.admin('select from alpha.outbox_stream')).length === 1);
  await relay.stop();
  await describe('');
  await setUpOther(setUp);
  if (remembered !== undefined)
    await other.admin(`insert into alpha.outbox_stream (stream, created) values ('ELIGO_ALPHA', $1)`, [remembered]);
  const foreign = await openOther().relay();
  await until(() => foreign.refusal() !== undefined);
  expect(foreign.refusal()).toMatch(
    /^stream ELIGO_ALPHA is not the one of this database\. .* rebuild-streams --of-deleted-installation "unmarked"$/,
  );
  expect(await descriptionOf()).toBeUndefined();
  const remove = (database: Database, deletedInstallation?: string) =>
    deleteStreams({ url: on.nats.url }, [{ service: 'alpha', owner: { database, deletedInstallation } }]);
  await expect(remove(other.open('alpha'))).rejects.toThrow(
    'Stream ELIGO_ALPHA names no installation, and this database does not know it. It was not deleted.',
  );
  expect(await descriptionOf()).toBeUndefined();
  // The one whose outbox remembers it needs no word.
  await remove(on.alpha);
});

test('an installation marks its stream again that a later one has marked, and an earlier one keeps its mark [D14.317]', async () => {
  await unmarkedStreams();
  await describe('Eligo installation: other, set up 2999-01-01T00:00:00.000Z');
  const consumer = await on.consumer();
  await until(() => consumer.refusal() !== undefined);
  const relay = await on.relay();
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 10);
  expect(await descriptionOf()).toMatch(/^Eligo installation: set up 20[\dT:.Z-]+$/);
  await relay.stop();
  await describe('Eligo installation: other, set up 2000-01-01T00:00:00.000Z');
  const again = await on.relay();
  await until(() => again.refusal() !== undefined);
});

test('a mark that no installation writes is refused, and its text is not shown [D14.317]', async () => {
  await unmarkedStreams();
  await describe('Eligo installation: "; touch x; "set up 2000-01-01T00:00:00.000Z');
  const relay = await openOther().relay();
  await until(() => relay.refusal() !== undefined);
  expect(relay.refusal()).toMatch(
    /^stream ELIGO_ALPHA belongs to another Eligo installation \(unreadable\); .* --of-deleted-installation "unreadable"$/,
  );
});

test('a database that no installation is recorded in refuses a stream with a mark [D14.317]', async () => {
  const [{ created_at } = {}] = await other.admin('delete from eligo.installation returning created_at::text');
  onTestFinished(async () => {
    await other.admin(`insert into eligo.installation (name, created_at) values ('', $1)`, [created_at]);
  });
  await unmarkedStreams();
  await describe('Eligo installation: set up 2026-01-02T03:04:05.678Z');
  const beside = openOther();
  const [foreign, relay] = [await beside.consumer(), await beside.relay()];
  await until(() => relay.refusal() !== undefined && foreign.refusal() !== undefined);
  expect(relay.refusal()).toContain('this one is not recorded in its database. Give');
});

test('a consumer whose NATS user may not read the stream yet goes on, and says so once [D14.317]', async () => {
  const services = { alpha: { password: 'a' }, beta: { password: 'b', consumes: { alpha: ['effects'] } } };
  const nats = await natsProcess((listen, storeDirectory) => {
    const text = natsServerConfig({ services, listen, storeDirectory });
    const [alpha = '', beta = ''] = text.split('user: "beta"');
    return [alpha, beta.replace('"$JS.API.STREAM.INFO.ELIGO_ALPHA", ', '')].join('user: "beta"');
  });
  await nats.start();
  onTestFinished(() => nats.remove());
  const { logger } = on;
  const connectAs = async (service: 'alpha' | 'beta') => {
    const url = nats.url.replace('nats://', `nats://${service}:${services[service].password}@`);
    const connection = await connectNats({ url, service, logger });
    onTestFinished(() => connection.close());
    return connection;
  };
  const relay = await on.relay({ connection: await connectAs('alpha') });
  const consumer = await on.consumer({ connection: await connectAs('beta') });
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 5);
  expect(logger.lines.filter(({ message }) => message.startsWith('NATS user may not read'))).toHaveLength(1);
  await Promise.all([relay.stop(), consumer.stop()]);
});
