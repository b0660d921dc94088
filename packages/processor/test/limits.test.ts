import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import type Stripe from 'stripe';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cardFacts, healthcareMetadata, openProcessors } from '../src/index.ts';
import { charged, newBench, newHome, newIntent, newKey, openPort, scope, startTestSandbox } from './support.ts';

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers every connection with these bytes and keeps it open. */
async function speaker(bytes: string, everyMs?: number): Promise<string> {
  return listen(
    createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => {
        if (everyMs === undefined) {
          socket.write(bytes);
          return;
        }
        let sent = 0;
        const drip = setInterval(() => socket.write(bytes[sent++ % bytes.length] ?? ''), everyMs);
        socket.on('close', () => clearInterval(drip));
      });
    }),
  );
}

describe('time', () => {
  test('the deadline is total: an answer that drips in is cut off', async () => {
    const url = await speaker(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n${' '.repeat(90_000)}`,
      5,
    );
    const port = openPort(url).of(scope);
    const startedMs = performance.now();
    expect(await port.retrieveIntent('pi_1', { timeoutMs: 2_000 })).toMatchObject({
      kind: 'unknown',
      reason: 'timeout',
      mayHaveHappened: true,
    });
    // The whole of it would take minutes.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test('without time nothing is sent', async () => {
    const bench = await newBench();
    const id = await newIntent(bench);
    expect(await bench.port.confirmIntent(id, { offSession: true }, { ...newKey(), timeoutMs: 0 })).toEqual({
      kind: 'unknown',
      reason: 'timeout',
      mayHaveHappened: false,
      replayed: false,
    });
    expect((await bench.port.retrieveIntent(id)).kind).toBe('confirmable');
  });

  test('a signal ends the wait; what the processor does goes on', async () => {
    const bench = await newBench();
    const id = await newIntent(bench);
    await bench.arm({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 500, times: 1 });
    const outcome = await bench.port.confirmIntent(
      id,
      { offSession: true },
      { ...newKey(), signal: AbortSignal.timeout(100) },
    );
    expect(outcome).toMatchObject({ kind: 'unknown', reason: 'aborted', mayHaveHappened: true });
    await expect.poll(async () => (await bench.port.retrieveIntent(id)).kind).toBe('succeeded');
    expect(await bench.port.retrieveIntent(id, { signal: AbortSignal.abort() })).toMatchObject({
      reason: 'aborted',
      mayHaveHappened: false,
    });
  });
});

describe('answers that are none', () => {
  const json = (body: string, status = '200 OK') =>
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  test.each([
    ['a page in HTML', json('<html>', '502 Bad Gateway'), 'unreadable'],
    ['not JSON', json('{"id"'), 'unreadable'],
    ['null', json('null'), 'unreadable'],
    ['a list', json('[]'), 'unreadable'],
    ['an object without amounts', json('{"id":"pi_1","status":"succeeded"}'), 'unreadable'],
    [
      'a state that nobody knows',
      json('{"id":"pi_1","status":"odd","amount":1,"amount_capturable":0,"amount_received":0}'),
      'unreadable',
    ],
    ['a 503 in JSON', json('{"error":{"type":"api_error","message":"x"}}', '503 Unavailable'), 'server_error'],
    ['an answer cut off', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"id"', 'timeout'],
    ['noise', 'SSH-2.0-x\r\n', 'connection'],
  ])('%s is unknown', async (_, bytes, reason) => {
    const port = openPort(await speaker(bytes)).of(scope);
    const timeoutMs = reason === 'timeout' ? 400 : 20_000;
    expect(await port.retrieveIntent('pi_1', { timeoutMs })).toMatchObject({ kind: 'unknown', reason });
  });

  const turnedAway = (headers: string, code = 'rate_limit') => {
    const body = `{"error":{"type":"invalid_request_error","code":"${code}","message":"x"}}`;
    return `HTTP/1.1 429 Too Many\r\n${headers}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };

  test.each([
    ['retry-after: 7\r\n', 7_000],
    ['', 1_000],
    ['retry-after: 0\r\n', 1_000],
    ['retry-after: soon\r\n', 1_000],
    ['retry-after: 2.0001\r\n', 2_001],
    ['retry-after: 86400\r\n', 60_000],
  ])('a 429 with %j is not now, for %i ms', async (headers, retryAfterMs) => {
    const port = openPort(await speaker(turnedAway(headers))).of(scope);
    expect(await port.retrieveIntent('pi_1')).toEqual({ kind: 'not_now', retryAfterMs });
    expect(await port.testBank?.failRefund('re_1')).toEqual({ kind: 'not_now', retryAfterMs });
  });

  test('a lock on the object is not now, too', async () => {
    const port = openPort(await speaker(turnedAway('', 'lock_timeout'))).of(scope);
    const outcome = await port.confirmIntent('pi_1', { offSession: true }, newKey());
    expect(outcome).toEqual({ kind: 'not_now', retryAfterMs: 1_000 });
  });

  test('a 429 that is replayed from the key is unknown: the key gives nothing else for a day', async () => {
    const port = openPort(await speaker(turnedAway('idempotent-replayed: true\r\n'))).of(scope);
    const outcome = await port.confirmIntent('pi_1', { offSession: true }, newKey());
    expect(outcome).toEqual({ kind: 'unknown', reason: 'rate_limited', mayHaveHappened: true, replayed: true });
  });

  test('nothing that was sent or configured is in an outcome', async () => {
    const bench = await newBench();
    const wrong = openProcessors({ ELIGO_SANDBOX_URL: bench.sandbox.url, ELIGO_SANDBOX_KEY: 'sk_test_canary_key' });
    onTestFinished(() => wrong.close());
    const outcomes = [
      await wrong.of(scope).createCustomer({ email: 'canary@shop.example', name: 'Canary' }, newKey()),
      await bench.port.createPaymentMethod({ token: '4242424242424242' }, newKey()),
      await bench.port.confirmIntent(await newIntent(bench, 'declined'), { offSession: true }, newKey()),
    ];
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'rejected', 'declined']);
    expect(JSON.stringify([outcomes, bench.observed])).not.toMatch(/canary|4242/i);
  });
});

describe('the circuit breaker', () => {
  test('opens when nothing listens, answers at once while it is open, and closes when the processor is back', async () => {
    const home = newHome();
    const first = await startTestSandbox(0, home);
    const changes: boolean[] = [];
    const port = openPort(first.url, { onBreaker: ({ open }) => changes.push(open) }).of(scope);
    expect((await port.createCustomer({}, newKey())).kind).toBe('found');
    await first.stop();
    expect(port.isDown()).toBe(false);
    for (let call = 0; call < 3; call++) {
      const outcome = await port.createCustomer({}, newKey());
      // The first may still meet the connection that the sandbox closed.
      expect(outcome).toMatchObject({ kind: 'unknown', reason: 'connection' });
    }
    await expect.poll(async () => (await port.createCustomer({}, newKey())) && port.isDown()).toBe(true);
    expect(await port.createCustomer({}, newKey())).toEqual({
      kind: 'unknown',
      reason: 'breaker_open',
      mayHaveHappened: false,
      replayed: false,
    });
    await startTestSandbox(Number(new URL(first.url).port), home);
    await expect.poll(() => port.isDown()).toBe(false);
    expect((await port.createCustomer({}, newKey())).kind).toBe('found');
    expect(changes).toEqual([true, false]);
  });

  test('a processor that says not now is up', async () => {
    const bench = await newBench();
    await bench.arm({ call: 'customers.create', kind: 'error_before', times: 11 });
    for (let call = 0; call < 11; call++) await bench.port.createCustomer({}, newKey());
    await bench.arm({ call: 'customers.create', kind: 'rate_limited', times: 15 });
    for (let call = 0; call < 15; call++) await bench.port.createCustomer({}, newKey());
    expect(bench.port.isDown()).toBe(false);
  });

  test('uploads of evidence neither open it nor keep it closed', async () => {
    const bench = await newBench();
    const content = Buffer.from('%PDF-1.4');
    const upload = () =>
      bench.port.uploadEvidence(
        {
          ...{ name: 'ffile_1.pdf', mediaType: 'application/pdf', sizeBytes: content.length },
          pieces: async function* () {
            yield content;
          },
        },
        newKey(),
      );
    await bench.arm({ call: 'files.create', kind: 'error_before', times: 15 });
    for (let call = 0; call < 15; call++) expect(await upload()).toMatchObject({ kind: 'unknown' });
    expect(bench.port.isDown()).toBe(false);
    await bench.arm({ call: 'customers.create', kind: 'error_before', times: 12 });
    for (let call = 0; call < 12; call++) {
      expect(bench.port.isDown()).toBe(false);
      expect((await upload()).kind).toBe('stored');
      await bench.port.createCustomer({}, newKey());
    }
    expect(bench.port.isDown()).toBe(true);
  });

  test('declines, refusals and single errors do not open it; a dozen errors in a row do', async () => {
    const bench = await newBench();
    const id = await newIntent(bench, 'declined');
    for (let call = 0; call < 15; call++) await bench.port.confirmIntent(id, { offSession: true }, newKey());
    await bench.arm({ call: 'customers.create', kind: 'error_before', times: 23 });
    for (let call = 0; call < 11; call++) await bench.port.createCustomer({}, newKey());
    expect(bench.port.isDown()).toBe(false);
    await bench.port.retrieveIntent(id);
    for (let call = 0; call < 12; call++) await bench.port.createCustomer({}, newKey());
    expect(bench.port.isDown()).toBe(true);
    await expect.poll(() => bench.port.isDown()).toBe(false);
  });
});

describe('where it is called', () => {
  test('a call inside a transaction throws before anything is sent', async () => {
    const bench = await newBench({
      beforeCall: () => {
        throw new Error('inside a transaction');
      },
    });
    await expect(bench.port.createCustomer({}, newKey())).rejects.toThrow('inside a transaction');
    await expect(bench.bank.failRefund('re_1')).rejects.toThrow('inside a transaction');
  });

  test('each call is observed with its outcome and its time', async () => {
    const bench = await newBench();
    await charged(bench);
    await bench.arm({ call: 'payment_intents.retrieve', kind: 'error_before', times: 1 });
    await bench.port.retrieveIntent('pi_1');
    expect(bench.observed.map(({ call, outcome }) => `${call} ${outcome}`)).toEqual([
      'payment_methods.create found',
      'payment_intents.create created',
      'payment_intents.confirm succeeded',
      'payment_intents.retrieve unknown:server_error',
    ]);
    expect(bench.observed.every(({ durationMs, processor }) => durationMs > 0 && processor === 'sandbox')).toBe(true);
  });
});

describe('health care', () => {
  const amounts = { medicalCents: 1_000, iiasCents: 700, prescriptionCents: 200, visionCents: 0, serviceCents: 100 };

  test('the total is the sum of the buckets, which are named where they are not zero', () => {
    expect(healthcareMetadata(amounts, 1000)).toEqual({
      healthcare_total: '1000',
      healthcare_iias: '700',
      healthcare_prescription: '200',
      healthcare_clinic: '100',
    });
    expect(healthcareMetadata(undefined, 1000)).toEqual({});
    expect(
      healthcareMetadata(
        { medicalCents: 0, iiasCents: 0, prescriptionCents: 0, visionCents: 0, serviceCents: 0 },
        1000,
      ),
    ).toEqual({});
  });

  test('what needs a letter is medical, and in no bucket', () => {
    expect(healthcareMetadata({ ...amounts, medicalCents: 1_400 }, 1_500)).toMatchObject({
      healthcare_total: '1400',
      healthcare_iias: '700',
    });
    const letter = { medicalCents: 900, iiasCents: 0, prescriptionCents: 0, visionCents: 0, serviceCents: 0 };
    expect(healthcareMetadata(letter, 900)).toEqual({ healthcare_total: '900' });
    expect(healthcareMetadata({ ...amounts, medicalCents: 1_400 }, 800)).toMatchObject({
      healthcare_total: '800',
      healthcare_iias: '560',
    });
  });

  test('it never exceeds the tender: cut to it, in proportion, to the cent [D4.7]', () => {
    expect(healthcareMetadata(amounts, 333)).toEqual({
      healthcare_total: '333',
      healthcare_iias: '233',
      healthcare_prescription: '67',
      healthcare_clinic: '33',
    });
  });

  test('without a description it is not known whether a card is a health card [D14.8]', () => {
    const card = { brand: 'visa', country: 'US', exp_month: 1, exp_year: 2040, funding: 'debit', last4: '0072' };
    expect(cardFacts(card as Stripe.PaymentMethod.Card).hsaFsa).toBeNull();
  });
});
