import { Failure } from '@eligo/failures';
import { withRequestContext } from '@eligo/rpc';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLogger, isCardNumber, scrub } from '../src/index.ts';
import { RepeatedLines } from '../src/repeated-lines.ts';
import { identityOf, keys, logLines } from './support.ts';

// One of each kind of thing that must never be in a log.
const canaries = {
  card: '4242424242424242',
  spacedCard: '4242 4242 4242 4242',
  liveKey: 'fsk_0a1b2c3d4e5f6g7h8i9jK0L1M2N3O4P5Q6R7S8',
  testKey: 'fsk_test_0a1b2c3d4e5f6g7h8i9jK0L1M2N3O4P5Q6R7S8',
  processorKey: 'sk_live_51HxAbCdEfGhIjKlMnOp',
  webhookSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  bearer: 'Bearer abcdefghijklmnopqrstuvwxyz',
  credential: identityOf('gateway').credentialFor('catalog'),
  privateKey: keys.privateKeys.gateway ?? '',
  databasePassword: 'postgres://eligo_catalog:hT8q2Lm9Zr@db:5432/eligo',
  email: 'margarethe.von.trotta@example.test',
  person: 'Margarethe von Trotta',
  address: 'Königsallee 77, 40212 Düsseldorf',
  letter: 'The patient has celiac disease and needs',
};
const traces = { ...canaries, password: 'hT8q2Lm9Zr', lastName: 'Trotta', street: 'Königsallee', illness: 'celiac' };

test('no canary comes through a field, whatever its name', () => {
  const log = logLines();
  const logger = createLogger({ service: 'checkout', destination: log.destination });
  const names = [
    'body',
    'request',
    'name',
    'email',
    'address',
    'metadata',
    'headers',
    'authorization',
    'url',
    'detail',
  ];
  for (const canary of Object.values(canaries)) {
    for (const name of names) logger.info({ [name]: canary, nested: { [name]: [canary] } }, 'a line');
    logger.info(
      { sessionId: canary, status: canary, reason: canary, ids: [canary] },
      'allowed names, forbidden values',
    );
    logger.child({ name: canary, customerId: canary }).warn('a child');
  }
  expectNone(log.text());
});

test('no canary comes through an error: its text, its cause, or what a driver hangs on it', () => {
  const log = logLines();
  const logger = createLogger({ service: 'checkout', destination: log.destination });
  for (const canary of Object.values(canaries)) {
    const fromPostgres = Object.assign(new Error(`invalid input syntax for type integer: "${canary}"`), {
      code: '22P02',
      detail: `Key (name)=(${canary}) already exists.`,
      where: canary,
      parameters: [canary],
    });
    logger.error({ err: fromPostgres }, 'a call failed');
    logger.error({ err: new Error('outer', { cause: fromPostgres }) }, 'a call failed');
    logger.error({ error: fromPostgres }, 'a call failed');
    logger.error({ err: new Failure('card_declined', { detail: canary, cause: fromPostgres }) }, 'refused');
    logger.error({ err: canary }, 'not even an error');
    logger.error(fromPostgres);
    logger.error(fromPostgres, 'with a message');
    jsonError(logger, canary);
  }
  expectNone(log.text());
});

test('what has a shape of its own is taken out of messages too', () => {
  const log = logLines();
  const logger = createLogger({ service: 'checkout', destination: log.destination });
  const { person: _, address: __, letter: ___, ...shaped } = canaries;
  for (const canary of Object.values(shaped)) logger.info(`message with ${canary} inside`);
  const found = Object.entries({ ...shaped, password: 'hT8q2Lm9Zr' }).filter(([, canary]) =>
    log.text().includes(canary),
  );
  expect(found.map(([kind]) => kind)).toEqual([]);
});

test('what operators need is there', () => {
  const log = logLines();
  const logger = createLogger({ service: 'checkout', destination: log.destination });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  withRequestContext({ requestId: 'req_1', traceparent }, () => {
    const err = Object.assign(new Error('could not serialize access'), { code: '40001' });
    logger.warn(
      { sessionId: 'fsess_01jabc', durationMs: 12.5, testMode: true, job: 'sweep', err },
      'a charge is in doubt',
    );
  });
  expect(log.lines()).toEqual([
    expect.objectContaining({
      ...{ level: 'warn', service: 'checkout', requestId: 'req_1', traceId: 'a'.repeat(32), sessionId: 'fsess_01jabc' },
      ...{ durationMs: 12.5, testMode: true, job: 'sweep', msg: 'a charge is in doubt' },
      err: expect.objectContaining({ type: 'Error', code: '40001', message: 'could not serialize access' }),
    }),
  ]);
  expect(log.text()).toMatch(/"stack":\["at [^"]*redaction\.test\.ts/);
});

test('a line names each of its fields once, also the service whose line it is', () => {
  const log = logLines();
  const logger = createLogger({ service: 'checkout', destination: log.destination });
  withRequestContext({ requestId: 'req_1' }, () => logger.info({ service: 'checkout', requestId: 'req_1' }, 'a line'));
  const names = [...log.text().matchAll(/"(\w+)":/g)].map(([, name]) => name);
  expect(names).toEqual([...new Set(names)]);
  expect(log.lines()).toEqual([expect.objectContaining({ service: 'checkout', requestId: 'req_1' })]);
});

test('a field that is not on the list shows its name and not its value', () => {
  const log = logLines();
  createLogger({ service: 'checkout', destination: log.destination }).info({ favouriteColour: 'blue' }, 'a line');
  expect(log.lines()).toEqual([expect.objectContaining({ favouriteColour: '[withheld]' })]);
});

test('card numbers are told from other digits by their check digit', () => {
  expect(isCardNumber('4000 0000 0000 0002')).toBe(true);
  expect(isCardNumber('4000000000000003')).toBe(false);
  expect(isCardNumber('424242424242')).toBe(false);
  expect(scrub('order 4000000000000003 paid with 4000000000000002')).toBe(
    'order 4000000000000003 paid with [withheld]',
  );
});

function jsonError(logger: ReturnType<typeof createLogger>, canary: string): void {
  try {
    JSON.parse(`${canary}, "${canary}"`);
  } catch (error) {
    logger.error({ err: error }, 'the body is no JSON');
  }
}

function expectNone(text: string): void {
  expect(text.length).toBeGreaterThan(1_000);
  const found = Object.entries(traces).filter(([, canary]) => text.includes(canary));
  expect(found.map(([kind]) => kind)).toEqual([]);
}

test('a failure that repeats is a few lines in each interval, and one line with the number of the others [D14.222]', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const log = logLines();
  const repeated = new RepeatedLines({ intervalMs: 100, most: 3 });
  const logger = createLogger({ service: 'checkout', destination: log.destination, repeated });
  for (let event = 0; event < 1_000; event += 1) {
    logger.warn({ err: new Error(`refused ${event}`), eventId: `fevt_${event}` }, 'Stream did not acknowledge events');
    logger.info({ requestId: `freq_${event}` }, 'Request completed');
  }
  logger.warn({ err: new TypeError('another kind') }, 'Stream did not acknowledge events');
  const warnings = () => log.lines().filter(({ level }) => level === 'warn');
  expect(warnings()).toHaveLength(4);
  expect(log.lines().filter(({ level }) => level === 'info')).toHaveLength(1_000);
  vi.advanceTimersByTime(100);
  expect(warnings()).toHaveLength(5);
  expect(warnings().at(-1)).toMatchObject({ leftOutCount: 997, msg: 'Stream did not acknowledge events' });
  logger.warn({ err: new Error('refused again') }, 'Stream did not acknowledge events');
  expect(warnings()).toHaveLength(6);
});
