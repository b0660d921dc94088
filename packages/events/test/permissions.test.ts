import { connect, headers, type NatsConnection, StringCodec } from 'nats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectNats, consume, deleteStreams, natsServerConfig, startRelay } from '../src/index.ts';
import { type Fixture, noteEffect, openFixture } from './fixture.ts';
import { type NatsProcess, natsProcess } from './nats-process.ts';
import { appendSome, type EventsDatabase, eventsDatabase, recordingLogger, until } from './support.ts';

const services = {
  alpha: { password: 'secret-a' },
  beta: { password: 'secret-b', consumes: { alpha: ['effects'] } },
  gamma: { password: 'secret-c', consumes: { alpha: ['other'] } },
};

let nats: NatsProcess;
let database: EventsDatabase;
let on: Fixture;

beforeAll(async () => {
  nats = await natsProcess((listen, storeDirectory) => natsServerConfig({ services, listen, storeDirectory }));
  await nats.start();
  database = await eventsDatabase();
  on = openFixture(nats.url, database);
});
afterAll(async () => {
  await on.end();
  await database.drop();
  await nats.remove();
});

function urlOf(service: keyof typeof services): string {
  return nats.url.replace('nats://', `nats://${service}:${services[service].password}@`);
}

/** The raw client as a service's user, and the first permission that it is refused while `act` runs. */
async function refusedTo(
  service: keyof typeof services,
  act: (nc: NatsConnection) => Promise<unknown> | unknown,
): Promise<string> {
  const nc = await connect({
    servers: `127.0.0.1:${nats.port}`,
    user: service,
    pass: services[service].password,
    inboxPrefix: `_INBOX_${service}`,
  });
  const refused = (async () => {
    for await (const { type, data } of nc.status()) if (type === 'error') return String(data);
    return 'nothing';
  })();
  await Promise.resolve(act(nc)).catch((error: unknown) => error);
  await nc.flush();
  const outcome = await Promise.race([
    refused,
    new Promise<string>((resolve) => setTimeout(() => resolve('nothing'), 300)),
  ]);
  await nc.close();
  return outcome;
}

test('with its own user each service publishes and consumes', async () => {
  const logger = recordingLogger();
  const alpha = await connectNats({ url: urlOf('alpha'), service: 'alpha', logger });
  const beta = await connectNats({ url: urlOf('beta'), service: 'beta', logger });
  const relay = startRelay({ database: on.alpha, service: 'alpha', connection: alpha, logger });
  const running = consume({
    database: on.beta,
    connection: beta,
    service: 'beta',
    logger,
    consumer: 'effects',
    subscriptions: [{ from: 'alpha', types: ['*'] }],
    handle: async (tx, event) => void (await tx.execute(noteEffect, null, [event.eventId])),
  });
  await appendSome(on.alpha, 20);
  await until(async () => (await on.effects()).events === 20);
  expect(logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  await running.stop();
  await relay.stop();
  await Promise.all([alpha.close(), beta.close()]);
});

describe('the server refuses', () => {
  test.each<[string, keyof typeof services, (nc: NatsConnection) => Promise<unknown> | unknown]>([
    [
      'to publish an event of another service',
      'beta',
      (nc) => nc.publish('eligo.alpha.live.checkout.session.completed'),
    ],
    [
      'to publish it into the stream with an id',
      'beta',
      (nc) => {
        const h = headers();
        h.set('Nats-Msg-Id', 'fevt_forged');
        nc.publish('eligo.alpha.test.x', StringCodec().encode('forged'), { headers: h });
      },
    ],
    ['to listen to events past the stream', 'beta', (nc) => void nc.subscribe('eligo.>')],
    ['to listen to answers of another service', 'beta', (nc) => void nc.subscribe('_INBOX_alpha.>')],
    [
      'to delete the stream of another service',
      'beta',
      (nc) => nc.request('$JS.API.STREAM.DELETE.ELIGO_ALPHA', '', { timeout: 200 }),
    ],
    [
      'to delete its own stream',
      'alpha',
      (nc) => nc.request('$JS.API.STREAM.DELETE.ELIGO_ALPHA', '', { timeout: 200 }),
    ],
    [
      'to change the settings of another stream',
      'beta',
      (nc) => nc.request('$JS.API.STREAM.UPDATE.ELIGO_ALPHA', '{}', { timeout: 200 }),
    ],
    ['to purge a stream', 'alpha', (nc) => nc.request('$JS.API.STREAM.PURGE.ELIGO_ALPHA', '', { timeout: 200 })],
    [
      'to make a stream of another name',
      'beta',
      (nc) => nc.request('$JS.API.STREAM.CREATE.ELIGO_ALPHA', '{}', { timeout: 200 }),
    ],
    [
      "to take from another's consumer",
      'gamma',
      (nc) => nc.request('$JS.API.CONSUMER.MSG.NEXT.ELIGO_ALPHA.beta-effects', '', { timeout: 200 }),
    ],
    [
      "to delete another's consumer",
      'gamma',
      (nc) => nc.request('$JS.API.CONSUMER.DELETE.ELIGO_ALPHA.beta-effects', '', { timeout: 200 }),
    ],
    [
      "to acknowledge for another's consumer",
      'gamma',
      (nc) => nc.publish('$JS.ACK.ELIGO_ALPHA.beta-effects.1.1.1.1.1'),
    ],
    [
      'to consume a stream that it does not consume',
      'alpha',
      (nc) => nc.request('$JS.API.CONSUMER.CREATE.ELIGO_BETA.alpha-x', '{}', { timeout: 200 }),
    ],
    [
      'to read a message of another stream',
      'beta',
      (nc) => nc.request('$JS.API.STREAM.MSG.GET.ELIGO_ALPHA', '{"seq":1}', { timeout: 200 }),
    ],
  ])('%s', async (_, service, act) => {
    expect(await refusedTo(service, act)).toMatch(/permissions.violation/i);
  });

  test('to rebuild streams as a service, and the error says what to do [D14.217]', async () => {
    await expect(deleteStreams({ url: urlOf('alpha') }, [{ service: 'alpha', owner: 'anyone' }])).rejects.toThrow(
      'The server rejected the deletion of stream ELIGO_ALPHA; use a NATS user who may delete it',
    );
  });

  test('who has no or the wrong password', async () => {
    const servers = `127.0.0.1:${nats.port}`;
    await expect(connect({ servers })).rejects.toThrow(/authorization/i);
    await expect(connect({ servers, user: 'alpha', pass: 'secret-b' })).rejects.toThrow(/authorization/i);
  });

  test('nothing of what is allowed', async () => {
    expect(await refusedTo('alpha', (nc) => nc.publish('eligo.alpha.test.x'))).toBe('nothing');
  });
});

test('a setting cannot break out of its quotes', () => {
  const options = { listen: 'x', storeDirectory: 'y' };
  expect(() => natsServerConfig({ ...options, services: { a: { password: 'x"; y' } } })).toThrow('quote');
  expect(natsServerConfig({ ...options, services: { a: { password: '$NATS_PASSWORD_A' } } })).toContain(
    'password: $NATS_PASSWORD_A',
  );
});
