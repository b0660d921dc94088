import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connectNats, deleteStreams, natsServerConfig } from '../src/index.ts';
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

/** The stream as the release before has it: used, and without a mark. */
async function unmarkedStream(): Promise<void> {
  const relay = await on.relay();
  const consumer = await on.consumer();
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 5);
  await Promise.all([relay.stop(), consumer.stop()]);
  const { manager } = await on.connect('admin');
  const { config } = await manager.streams.info('ELIGO_ALPHA');
  await manager.streams.update('ELIGO_ALPHA', { ...config, description: '' });
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

  // As the words say, once the other one is gone.
  await on.end();
  await deleteStreams({ url: on.nats.url }, ['alpha']);
  await until(async () => (await beside.effects()).events === 3);
  expect([relay.refusal(), foreign.refusal()]).toEqual([undefined, undefined]);
});

test('an installation marks a stream that a release before created, and its consumers go on before that [D14.317]', async () => {
  await unmarkedStream();
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
  await unmarkedStream();
  const beside = openOther();
  const foreign = await beside.consumer();
  const relay = await beside.relay();
  await appendSome(beside.alpha, 3);
  await until(() => relay.refusal() !== undefined);
  expect(relay.refusal()).toContain('was used before and this database does not know it');
  expect([relay.stats().published, foreign.stats().handled]).toEqual([0, 0]);
  expect(await descriptionOf()).toBeUndefined();
  // Its owner comes back in the new release: the stream is its own still.
  await on.relay();
  await on.consumer();
  await until(() => foreign.refusal() !== undefined);
  await appendSome(on.alpha, 5);
  await until(async () => (await on.effects()).events === 10);
  expect(await beside.effects()).toEqual({ events: 0, effects: 0 });
});

test('a consumer leaves a stream that another installation marks while it takes from it [D14.317]', async () => {
  await unmarkedStream();
  const consumer = await on.consumer({ filterCheckMs: 20 });
  const { manager } = await on.connect('admin');
  await until(async () => (await manager.consumers.info('ELIGO_ALPHA', 'beta-effects')).num_waiting > 0);
  await manager.streams.update('ELIGO_ALPHA', { ...streamSettings('alpha'), description: 'Eligo installation: other' });
  await until(() => consumer.refusal() !== undefined);
});

test('a consumer that reconnects to a server with the stream of another installation leaves it [D14.317]', async () => {
  const relay = await on.relay();
  const consumer = await on.consumer({ filterCheckMs: 20 });
  await appendSome(on.alpha, 1);
  await until(async () => (await on.effects()).events === 1);
  await relay.stop();
  const { manager } = await on.connect('admin');
  await manager.streams.update('ELIGO_ALPHA', { ...streamSettings('alpha'), description: 'Eligo installation: other' });
  await on.nats.stop();
  await on.nats.start();
  await until(() => consumer.refusal() !== undefined);
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
