import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultKind } from '@eligo/sandbox';
import { describe, expect, test } from 'vitest';
import type { CallOptions, CreationOutcome, IntentOutcome, RefundOutcome, SetupOutcome } from '../src/index.ts';
import { type Bench, charged, newBench, newCard, newIntent, newKey } from './support.ts';

type Outcome = IntentOutcome | RefundOutcome | SetupOutcome | CreationOutcome;

/** One call that moves something: how it is prepared and made, what it gives, and how to see whether it was done. */
interface Subject {
  call: string;
  prepare(
    bench: Bench,
  ): Promise<{ send(options: CallOptions & { idempotencyKey: string }): Promise<Outcome>; done(): Promise<boolean> }>;
  success: Outcome['kind'];
}

const subjects: Subject[] = [
  {
    call: 'payment_intents.create',
    success: 'created',
    prepare: async (bench) => {
      const paymentMethod = await newCard(bench, 'hsa');
      const input = {
        attemptId: 'att_new',
        amountCents: 1000,
        capture: 'automatic' as const,
        paymentMethod,
        metadata: {},
      };
      return {
        send: (options) => bench.port.createIntent(input, options),
        done: async () => (await bench.port.findIntentByMetadata('attempt', 'att_new')).kind === 'confirmable',
      };
    },
  },
  {
    call: 'payment_intents.confirm',
    success: 'succeeded',
    prepare: async (bench) => {
      const id = await newIntent(bench);
      return {
        send: (options) => bench.port.confirmIntent(id, { offSession: true }, options),
        done: async () => (await bench.port.retrieveIntent(id)).kind === 'succeeded',
      };
    },
  },
  {
    call: 'payment_intents.capture',
    success: 'succeeded',
    prepare: async (bench) => {
      const id = await charged(bench, 'hsa', 'manual');
      return {
        send: (options) => bench.port.captureIntent(id, { finalCapture: true }, options),
        done: async () => (await bench.port.retrieveIntent(id)).kind === 'succeeded',
      };
    },
  },
  {
    call: 'payment_intents.cancel',
    success: 'canceled',
    prepare: async (bench) => {
      const id = await charged(bench, 'hsa', 'manual');
      return {
        send: (options) => bench.port.cancelIntent(id, options),
        done: async () => (await bench.port.retrieveIntent(id)).kind === 'canceled',
      };
    },
  },
  {
    call: 'refunds.create',
    success: 'succeeded',
    prepare: async (bench) => {
      const intentId = await charged(bench);
      return {
        send: (options) => bench.port.createRefund({ refundId: 'fre_1', intentId, amountCents: 400 }, options),
        done: async () => (await bench.port.findRefund(intentId, 'fre_1')).kind === 'succeeded',
      };
    },
  },
  {
    call: 'setup_intents.confirm',
    success: 'succeeded',
    prepare: async (bench) => {
      const setup = await bench.port.createSetupIntent({ paymentMethod: await newCard(bench, 'hsa') }, newKey());
      if (!('setupIntentId' in setup)) throw new Error('no set-up');
      return {
        send: (options) => bench.port.confirmSetupIntent(setup.setupIntentId, {}, options),
        done: async () => (await bench.port.retrieveSetupIntent(setup.setupIntentId)).kind === 'succeeded',
      };
    },
  },
];

/** What the first call gives, whether it was done then, and what the same request under the same key gives after it. */
const expectations: Record<
  Exclude<FaultKind, 'rate_limited'>,
  { reason: string; done: boolean; again: 'success' | 'replayed 500' }
> = {
  error_before: { reason: 'server_error', done: false, again: 'replayed 500' },
  error_after: { reason: 'server_error', done: true, again: 'replayed 500' },
  drop_before: { reason: 'connection', done: false, again: 'success' },
  drop_after: { reason: 'connection', done: true, again: 'success' },
  late: { reason: 'connection', done: false, again: 'success' },
  in_progress: { reason: 'in_progress', done: false, again: 'success' },
  slow: { reason: 'timeout', done: true, again: 'success' },
};

const kinds = Object.keys(expectations) as (keyof typeof expectations)[];

describe.each(subjects)('$call', (subject) => {
  test.each(kinds)('%s is unknown, never failed; what then is the truth can be found out', async (kind) => {
    const bench = await newBench();
    const { send, done } = await subject.prepare(bench);
    const expected = expectations[kind];
    const key = newKey();
    await bench.arm({ call: subject.call, kind, times: 1, delay_ms: kind === 'late' ? 30_000 : 1_000 });
    const first = await send({ ...key, timeoutMs: kind === 'slow' ? 400 : 5_000 });
    expect(first).toEqual({ kind: 'unknown', reason: expected.reason, mayHaveHappened: true, replayed: false });
    expect(await done()).toBe(expected.done);

    // While a slow one still runs, its key is in use.
    let again = await send(key);
    while (again.kind === 'unknown' && again.reason === 'in_progress') again = await send(key);
    if (expected.again === 'success') {
      expect(again.kind).toBe(subject.success);
      return;
    }
    expect(again).toEqual({ kind: 'unknown', reason: 'server_error', mayHaveHappened: true, replayed: true });
    if (!expected.done) expect((await send(newKey())).kind).toBe(subject.success);
  });

  test('rate_limited is not now, and nothing happened: the same request under the same key does it later', async () => {
    const bench = await newBench();
    const { send, done } = await subject.prepare(bench);
    const key = newKey();
    await bench.arm({ call: subject.call, kind: 'rate_limited', times: 2, delay_ms: 7_000 });
    for (let turn = 0; turn < 2; turn++) expect(await send(key)).toEqual({ kind: 'not_now', retryAfterMs: 7_000 });
    expect(await done()).toBe(false);
    expect((await send(key)).kind).toBe(subject.success);
    expect(await done()).toBe(true);
  });

  test('other parameters or another call under its key are rejected', async () => {
    const bench = await newBench();
    const { send } = await subject.prepare(bench);
    const key = newKey();
    await bench.port.createCustomer({ email: 'a@shop.example' }, key);
    expect(await send(key)).toMatchObject({ kind: 'rejected', code: 'idempotency_error', status: 400 });
  });
});

test('a connection that breaks is not repeated by the SDK: one request reaches the processor for each call', async () => {
  const bench = await newBench();
  const id = await newIntent(bench);
  await bench.arm({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
  expect((await bench.port.confirmIntent(id, { offSession: true }, newKey())).kind).toBe('unknown');
  expect((await bench.port.retrieveIntent(id)).kind).toBe('confirmable');
});

test('what reliability 4.1 prescribes for an unknown confirm: read, and confirm the same intent under the next key', async () => {
  const bench = await newBench();
  for (const kind of [...kinds, 'rate_limited'] as const) {
    const id = await newIntent(bench);
    await bench.arm({ call: 'payment_intents.confirm', kind, times: 1, delay_ms: 250 });
    let outcome = await bench.port.confirmIntent(
      id,
      { offSession: true },
      { idempotencyKey: `${id}:1`, timeoutMs: 150 },
    );
    for (let send = 2; outcome.kind !== 'succeeded'; send++) {
      outcome = await bench.port.retrieveIntent(id);
      if (outcome.kind === 'confirmable')
        outcome = await bench.port.confirmIntent(id, { offSession: true }, { idempotencyKey: `${id}:${send}` });
    }
    expect(outcome.kind).toBe('succeeded');
  }
  // Until the orphan of `late` has come, and found its intent charged.
  await sleep(300);
  const intents = (await bench.charges()).map((charge) => charge.payment_intent);
  expect(new Set(intents).size).toBe(intents.length);
  expect(intents).toHaveLength(kinds.length + 1);
});
