import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultKind } from '@eligo/sandbox';
import { describe, expect, test } from 'vitest';
import type {
  CallOptions,
  CreationOutcome,
  CustomerOutcome,
  DisputeOutcome,
  IntentOutcome,
  PaymentMethodOutcome,
  ProcessorPort,
  RefundOutcome,
  SetupOutcome,
} from '../src/index.ts';
import { type Bench, charged, newBench, newCard, newIntent, newKey } from './support.ts';

type Outcome =
  | IntentOutcome
  | RefundOutcome
  | SetupOutcome
  | CreationOutcome
  | CustomerOutcome
  | PaymentMethodOutcome
  | DisputeOutcome;

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
  {
    call: 'setup_intents.cancel',
    success: 'canceled',
    prepare: async (bench) => {
      const setup = await bench.port.createSetupIntent({ paymentMethod: await newCard(bench, 'hsa') }, newKey());
      if (!('setupIntentId' in setup)) throw new Error('no set-up');
      return {
        send: (options) => bench.port.cancelSetupIntent(setup.setupIntentId, options),
        done: async () => (await bench.port.retrieveSetupIntent(setup.setupIntentId)).kind === 'canceled',
      };
    },
  },
  {
    call: 'payment_methods.attach',
    success: 'found',
    prepare: async (bench) => {
      const [card, customer] = [await newCard(bench, 'hsa'), await newCustomer(bench)];
      return {
        send: (options) => bench.port.attachPaymentMethod(card, customer, options),
        done: async () => (await ownerOf(bench, card)) === customer,
      };
    },
  },
  {
    call: 'payment_methods.detach',
    success: 'found',
    prepare: async (bench) => {
      const [card, customer] = [await newCard(bench, 'hsa'), await newCustomer(bench)];
      await bench.port.attachPaymentMethod(card, customer, newKey());
      return {
        send: (options) => bench.port.detachPaymentMethod(card, options),
        done: async () => (await ownerOf(bench, card)) !== customer,
      };
    },
  },
  {
    call: 'disputes.update',
    success: 'found',
    prepare: async (bench) => {
      const id = await newDispute(bench);
      return {
        send: (options) =>
          bench.port.updateDispute(id, { evidence: { product_description: 'x' }, submit: true }, options),
        done: async () => (await statusOfDispute(bench, id)) === 'under_review',
      };
    },
  },
  {
    call: 'disputes.close',
    success: 'found',
    prepare: async (bench) => {
      const id = await newDispute(bench);
      return {
        send: (options) => bench.port.closeDispute(id, options),
        done: async () => (await statusOfDispute(bench, id)) === 'lost',
      };
    },
  },
];

async function newCustomer({ port }: Bench): Promise<string> {
  const made = await port.createCustomer({}, newKey());
  if (made.kind !== 'found') throw new Error(`no customer: ${made.kind}`);
  return made.customerId;
}

async function ownerOf({ port }: Bench, card: string): Promise<string | null | undefined> {
  const found = await port.retrievePaymentMethod(card);
  return found.kind === 'found' ? found.customerId : undefined;
}

async function newDispute(bench: Bench): Promise<string> {
  const charge = await bench.port.retrieveIntent(await charged(bench, 'credit'));
  if (charge.kind !== 'succeeded') throw new Error(`no charge: ${charge.kind}`);
  const opened = await bench.bank.disputeCharge({ chargeId: charge.chargeId });
  if (opened.kind !== 'found') throw new Error(`no dispute: ${opened.kind}`);
  return opened.disputeId;
}

async function statusOfDispute({ port }: Bench, id: string): Promise<string> {
  const found = await port.retrieveDispute(id);
  return found.kind === 'found' ? found.status : found.kind;
}

/** The calls that make something new and hold no money: nobody has to find out what became of one, as it is made again. */
const makers: readonly { call: string; send(bench: Bench, options: { idempotencyKey: string }): Promise<Outcome> }[] = [
  { call: 'customers.create', send: ({ port }, options) => port.createCustomer({}, options) },
  { call: 'setup_intents.create', send: ({ port }, options) => port.createSetupIntent({}, options) },
  { call: 'payment_methods.create', send: ({ bank }, options) => bank.createPaymentMethod({ card: 'hsa' }, options) },
];

/** The calls that only read. */
const reads: readonly { call: string; read(port: ProcessorPort, bench: Bench): Promise<{ kind: string }> }[] = [
  { call: 'payment_intents.retrieve', read: async (port, bench) => port.retrieveIntent(await charged(bench)) },
  { call: 'payment_intents.search', read: (port) => port.findIntentByMetadata('attempt', 'none') },
  {
    call: 'payment_methods.retrieve',
    read: async (port, bench) => port.retrievePaymentMethod(await newCard(bench, 'hsa')),
  },
  { call: 'refunds.list', read: async (port, bench) => port.findRefund(await charged(bench), 'none') },
  { call: 'refunds.retrieve', read: (port) => port.retrieveRefund('re_none') },
  { call: 'setup_intents.retrieve', read: (port) => port.retrieveSetupIntent('seti_none') },
  { call: 'setup_intents.list', read: (port) => port.findSetupIntent('cus_none', 'none') },
  { call: 'confirmation_tokens.retrieve', read: (port) => port.retrieveConfirmationToken('ctoken_none') },
  { call: 'charges.retrieve', read: (port) => port.retrieveCharge('ch_none') },
  { call: 'disputes.retrieve', read: async (port, bench) => port.retrieveDispute(await newDispute(bench)) },
  { call: 'events.list', read: (port) => port.listEvents({ types: ['charge.succeeded'], from: new Date(0) }) },
  { call: 'balance.retrieve', read: (port) => port.retrieveBalance() },
  { call: 'balance_transactions.list', read: (port) => port.listBalanceTransactions({ from: new Date(0) }) },
  { call: 'balance_transactions.retrieve', read: (port) => port.retrieveBalanceTransaction('txn_none') },
  { call: 'payouts.retrieve', read: (port) => port.retrievePayout('po_none') },
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

test.each(makers)(
  '$call that fails is unknown or not now, and succeeds when it is made again',
  async ({ call, send }) => {
    for (const kind of [...kinds.filter((one) => one !== 'slow'), 'rate_limited'] as const) {
      const bench = await newBench();
      await bench.arm({ call, kind, times: 1, delay_ms: 7_000 });
      const outcome = await send(bench, newKey());
      expect([kind, outcome.kind]).toEqual([kind, kind === 'rate_limited' ? 'not_now' : 'unknown']);
      expect([kind, (await send(bench, newKey())).kind]).toEqual([
        kind,
        expect.stringMatching(/^(found|created|stored|confirmable|requires_\w+)$/),
      ]);
    }
  },
);

test.each(reads)(
  '$call that fails says nothing of what it reads: not now or unknown, never gone',
  async ({ call, read }) => {
    const bench = await newBench();
    const { port } = bench;
    const truth = (await read(port, bench)).kind;
    expect(['unknown', 'not_now']).not.toContain(truth);
    for (const kind of ['error_before', 'drop_before', 'drop_after', 'rate_limited'] as const) {
      await bench.arm({ call, kind, times: 1, delay_ms: 7_000 });
      expect([kind, (await read(port, bench)).kind]).toEqual([kind, kind === 'rate_limited' ? 'not_now' : 'unknown']);
      expect([kind, (await read(port, bench)).kind]).toEqual([kind, truth]);
    }
  },
);

test('a connection that breaks is not repeated by the SDK: one request reaches the processor for each call', async () => {
  const bench = await newBench();
  const id = await newIntent(bench);
  await bench.arm({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
  expect((await bench.port.confirmIntent(id, { offSession: true }, newKey())).kind).toBe('unknown');
  expect((await bench.port.retrieveIntent(id)).kind).toBe('confirmable');
});

test('what docs/reliability.md prescribes for an unknown confirm: read, and confirm the same intent under the next key', async () => {
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
