import { describe, expect, test } from 'vitest';
import { type Bench, charged, newBench, newCard, newIntent, newKey, secretKey } from './support.ts';

async function confirmed(bench: Bench, card: Parameters<typeof newIntent>[1], offSession = true) {
  return bench.port.confirmIntent(await newIntent(bench, card), { offSession }, newKey());
}

describe('intents', () => {
  test('created unconfirmed, confirmed, and found again by its attempt', async () => {
    const bench = await newBench();
    const paymentMethod = await newCard(bench, 'hsa');
    const customer = await bench.port.createCustomer({ email: 'a@shop.example', name: 'A' }, newKey());
    if (customer.kind !== 'found') throw new Error('no customer');
    await bench.port.attachPaymentMethod(paymentMethod, customer.customerId, newKey());
    const made = await bench.port.createIntent(
      {
        attemptId: 'att_1',
        amountCents: 1234,
        capture: 'automatic',
        paymentMethod,
        customer: customer.customerId,
        metadata: { session: 'fcs_1' },
        healthcare: { medicalCents: 1_000, iiasCents: 1000, prescriptionCents: 0, visionCents: 0, serviceCents: 234 },
      },
      newKey(),
    );
    expect(made).toMatchObject({
      kind: 'created',
      amountCents: 1234,
      amountReceivedCents: 0,
      customerId: customer.customerId,
      paymentMethodId: paymentMethod,
      metadata: {
        attempt: 'att_1',
        session: 'fcs_1',
        healthcare_total: '1234',
        healthcare_iias: '1000',
        healthcare_clinic: '234',
      },
    });
    if (made.kind !== 'created') return;
    expect(await bench.charges()).toEqual([]);
    expect((await bench.port.retrieveIntent(made.intentId)).kind).toBe('confirmable');
    const done = await bench.port.confirmIntent(made.intentId, { offSession: true }, newKey());
    expect(done).toMatchObject({
      kind: 'succeeded',
      intentId: made.intentId,
      chargeId: expect.stringMatching(/^ch_/),
      amountReceivedCents: 1234,
    });
    expect(await bench.port.findIntentByMetadata('attempt', 'att_1')).toEqual(done);
    expect(await bench.port.findIntentByMetadata('attempt', 'att_2')).toEqual({ kind: 'none' });
  });

  test.each([
    ['held for what the card has, where that is asked for', true, 'manual'],
    ['declined where it is not asked for', false, 'manual'],
  ] as const)('a health card that is short is %s [D14.183]', async (_what, acceptsPart, capture) => {
    const bench = await newBench();
    expect(bench.port.asksForParts).toBe(true);
    const paymentMethod = await newCard(bench, 'hsa_short');
    const input = { attemptId: 'att_1', amountCents: 4_000, paymentMethod, metadata: {}, acceptsPart };
    const made = await bench.port.createIntent({ ...input, capture }, newKey());
    if (made.kind !== 'created') throw new Error(made.kind);
    const outcome = await bench.port.confirmIntent(made.intentId, { offSession: false, isHold: true }, newKey());
    const held = { kind: 'requires_capture', amountCents: 4_000, amountCapturableCents: 2_500 };
    expect(outcome).toMatchObject(acceptsPart ? held : { kind: 'declined', declineCode: 'insufficient_funds' });
    if (!acceptsPart) return;
    const answer = await bench.port.captureIntent(made.intentId, { amountCents: 2_500, finalCapture: true }, newKey());
    expect(answer).toMatchObject({ kind: 'succeeded', amountReceivedCents: 2_500 });
    expect(await bench.charges()).toMatchObject([{ amount: 2_500, amount_captured: 2_500 }]);
  });

  test('a charge at once is never asked for in part [D14.183]', async () => {
    const { port } = await newBench();
    const input = { attemptId: 'att_1', amountCents: 4_000, metadata: {}, acceptsPart: true };
    await expect(async () => port.createIntent({ ...input, capture: 'automatic' }, newKey())).rejects.toThrow(
      RangeError,
    );
  });

  test.each([
    ['declined', 'card_declined', 'generic_decline'],
    ['insufficient_funds', 'card_declined', 'insufficient_funds'],
    ['hsa_insufficient_funds', 'card_declined', 'insufficient_funds'],
    ['expired_card', 'expired_card', 'expired_card'],
    ['authentication_required', 'authentication_required', 'authentication_required'],
  ] as const)(
    '%s is declined off session as %s, %s; reading it later says the same',
    async (card, code, declineCode) => {
      const bench = await newBench();
      const id = await newIntent(bench, card);
      const outcome = await bench.port.confirmIntent(id, { offSession: true }, newKey());
      expect(outcome).toEqual({ kind: 'declined', code, declineCode, chargeId: expect.stringMatching(/^ch_/) });
      expect(await bench.port.retrieveIntent(id)).toEqual(outcome);
    },
  );

  test('three-d-secure is asked for with the intent and with the set-up, as the network shows', async () => {
    const bench = await newBench();
    const paymentMethod = await newCard(bench, 'authentication_supported');
    const sent = async (path: string) => {
      const headers = { authorization: `Bearer ${secretKey}`, 'stripe-account': bench.port.processorAccount ?? '' };
      const answer = await fetch(new URL(path, bench.sandbox.url), { headers });
      const { payment_method_options } = (await answer.json()) as { payment_method_options: { card: object } };
      return payment_method_options.card;
    };
    for (const [threeDSecure, kind] of [
      ['any', 'requires_action'],
      ['challenge', 'requires_action'],
      ['automatic', 'succeeded'],
      [undefined, 'succeeded'],
    ] as const) {
      const expected = { request_three_d_secure: threeDSecure ?? 'automatic' };
      const made = await bench.port.createIntent(
        {
          ...{ attemptId: 'att_1', amountCents: 1000, capture: 'automatic', metadata: {} },
          paymentMethod,
          threeDSecure,
        },
        newKey(),
      );
      if (made.kind !== 'created') throw new Error(made.kind);
      const { intentId: id } = made;
      expect(await sent(`/v1/payment_intents/${id}`)).toMatchObject(expected);
      expect((await bench.port.confirmIntent(id, { offSession: false }, newKey())).kind).toBe(kind);
      const setup = await bench.port.createSetupIntent({ paymentMethod, threeDSecure }, newKey());
      if (setup.kind !== 'confirmable') throw new Error(setup.kind);
      expect(await sent(`/v1/setup_intents/${setup.setupIntentId}`)).toMatchObject(expected);
      expect((await bench.port.confirmSetupIntent(setup.setupIntentId, {}, newKey())).kind).toBe(kind);
    }
  });

  test('authentication on session: requires_action, then what the shopper makes of it', async () => {
    const bench = await newBench();
    const id = await newIntent(bench, 'authentication_required');
    const waiting = await bench.port.confirmIntent(
      id,
      { offSession: false, returnUrl: 'https://shop.example/done' },
      newKey(),
    );
    expect(waiting).toMatchObject({ kind: 'requires_action', nextActionUrl: expect.stringContaining(id) });
    expect(await bench.bank.authenticate(id, true)).toEqual({ kind: 'done' });
    expect((await bench.port.retrieveIntent(id)).kind).toBe('succeeded');
    const other = await newIntent(bench, 'authentication_required');
    await bench.port.confirmIntent(other, { offSession: false }, newKey());
    await bench.bank.authenticate(other, false);
    // As Stripe says it: no issuer was asked, so there is no charge and no decline code.
    expect(await bench.port.retrieveIntent(other)).toEqual({
      ...{ kind: 'declined', code: 'payment_intent_authentication_failure' },
      ...{ declineCode: undefined, chargeId: undefined },
    });
  });

  test('a confirmation that comes too late tells what the intent stands at', async () => {
    const bench = await newBench();
    const done = await charged(bench);
    expect((await bench.port.confirmIntent(done, { offSession: true }, newKey())).kind).toBe('succeeded');
    const held = await charged(bench, 'hsa', 'manual');
    expect((await bench.port.confirmIntent(held, { offSession: true }, newKey())).kind).toBe('requires_capture');
    await bench.port.cancelIntent(held, newKey());
    expect((await bench.port.confirmIntent(held, { offSession: true }, newKey())).kind).toBe('canceled');
    expect((await bench.port.captureIntent(done, { finalCapture: true }, newKey())).kind).toBe('succeeded');
    expect((await bench.port.cancelIntent(done, newKey())).kind).toBe('succeeded');
    expect(await bench.charges()).toHaveLength(2);
  });

  test('several captures of one hold, never more than it', async () => {
    const bench = await newBench();
    const id = await charged(bench, 'hsa', 'manual');
    const capture = (amountCents: number, finalCapture: boolean) =>
      bench.port.captureIntent(id, { amountCents, finalCapture }, newKey());
    expect(await capture(300, false)).toMatchObject({
      kind: 'requires_capture',
      amountCapturableCents: 700,
      amountReceivedCents: 300,
    });
    expect(await capture(701, false)).toMatchObject({ kind: 'rejected', code: 'amount_too_large', status: 400 });
    expect(await capture(200, true)).toMatchObject({
      kind: 'succeeded',
      amountCapturableCents: 0,
      amountReceivedCents: 500,
    });
  });

  test('an amount of nine digits is a fault of the caller and not an outcome: nothing is sent', async () => {
    const bench = await newBench();
    const create = (amountCents: number) =>
      bench.port.createIntent({ attemptId: 'att_1', amountCents, capture: 'automatic', metadata: {} }, newKey());
    await expect(create(100_000_000)).rejects.toThrow(RangeError);
    expect(await bench.port.findIntentByMetadata('attempt', 'att_1')).toEqual({ kind: 'none' });
    expect((await create(99_999_999)).kind).toBe('created');
  });

  test('our own mistakes are rejected: definite, and nothing happened', async () => {
    const bench = await newBench();
    const create = (amountCents: number) =>
      bench.port.createIntent({ attemptId: 'att_1', amountCents, capture: 'automatic', metadata: {} }, newKey());
    expect(await create(49)).toEqual({ kind: 'rejected', code: 'amount_too_small', status: 400, param: 'amount' });
    expect(await bench.port.retrieveIntent('pi_none')).toMatchObject({
      kind: 'rejected',
      code: 'resource_missing',
      status: 404,
    });
    const withoutCard = await create(1000);
    if (withoutCard.kind !== 'created') throw new Error('no intent');
    expect(await bench.port.confirmIntent(withoutCard.intentId, { offSession: true }, newKey())).toMatchObject({
      kind: 'rejected',
    });
  });
});

describe('payment methods', () => {
  test.each([
    ['hsa', true],
    ['fsa', true],
    ['hsa_declined', true],
    ['credit', false],
    ['debit', false],
    ['mastercard', false],
  ] as const)('%s: hsa_fsa is %s [D14.8]', async (card, hsaFsa) => {
    const bench = await newBench();
    const made = await bench.bank.createPaymentMethod({ card, billing: { name: 'A B' } }, newKey());
    expect(made).toMatchObject({ kind: 'found', card: { hsaFsa }, billing: { name: 'A B' } });
    if (made.kind !== 'found') return;
    expect(await bench.port.retrievePaymentMethod(made.paymentMethodId)).toEqual(made);
  });

  test('from a token, attached, detached, and then of no use', async () => {
    const bench = await newBench();
    const made = await bench.port.createPaymentMethod({ token: 'tok_visa' }, newKey());
    const customer = await bench.port.createCustomer({}, newKey());
    if (made.kind !== 'found' || customer.kind !== 'found') throw new Error('nothing to attach');
    expect(await bench.port.attachPaymentMethod(made.paymentMethodId, customer.customerId, newKey())).toMatchObject({
      customerId: customer.customerId,
    });
    expect(await bench.port.detachPaymentMethod(made.paymentMethodId, newKey())).toMatchObject({
      customerId: undefined,
    });
    expect(await bench.port.attachPaymentMethod(made.paymentMethodId, customer.customerId, newKey())).toMatchObject({
      kind: 'rejected',
    });
    expect(await bench.port.createPaymentMethod({ token: 'tok_none' }, newKey())).toMatchObject({ kind: 'rejected' });
  });
});

describe('set-ups, refunds, disputes', () => {
  test('a set-up that is confirmed attaches its card; a declined one is declined', async () => {
    const bench = await newBench();
    const customer = await bench.port.createCustomer({}, newKey());
    if (customer.kind !== 'found') throw new Error('no customer');
    const setUp = async (card: 'hsa' | 'declined' | 'authentication_required') => {
      const paymentMethod = await newCard(bench, card);
      const setup = await bench.port.createSetupIntent({ customer: customer.customerId, paymentMethod }, newKey());
      if (!('setupIntentId' in setup)) throw new Error('no set-up');
      return { paymentMethod, outcome: await bench.port.confirmSetupIntent(setup.setupIntentId, {}, newKey()) };
    };
    const done = await setUp('hsa');
    expect(done.outcome.kind).toBe('succeeded');
    expect(await bench.port.retrievePaymentMethod(done.paymentMethod)).toMatchObject({
      customerId: customer.customerId,
    });
    expect((await setUp('declined')).outcome).toMatchObject({ kind: 'declined', code: 'card_declined' });
    expect((await setUp('authentication_required')).outcome.kind).toBe('requires_action');
  });

  test('refunds stay within what was captured; one can fail afterwards', async () => {
    const bench = await newBench();
    const intentId = await charged(bench);
    const refund = (refundId: string, amountCents: number) =>
      bench.port.createRefund({ refundId, intentId, amountCents }, newKey());
    const first = await refund('fre_1', 600);
    expect(first).toMatchObject({ kind: 'succeeded', amountCents: 600, intentId, metadata: { refund: 'fre_1' } });
    expect(await refund('fre_2', 401)).toMatchObject({ kind: 'rejected', param: 'amount' });
    expect(await bench.port.findRefund(intentId, 'fre_2')).toEqual({ kind: 'none' });
    if (!('refundId' in first)) return;
    expect(await bench.bank.failRefund(first.refundId)).toMatchObject({
      kind: 'failed',
      failureBalanceTransactionId: expect.stringMatching(/^txn_/),
    });
    expect((await bench.port.retrieveRefund(first.refundId)).kind).toBe('failed');
    expect((await refund('fre_3', 1000)).kind).toBe('succeeded');
    expect((await refund('fre_4', 1)).kind).toBe('rejected');
  });

  test('a refund is found among hundreds of one intent, and none is said only at the end of the list', async () => {
    const bench = await newBench();
    const intentId = await charged(bench, 'credit');
    for (let i = 0; i < 205; i++) {
      const made = await bench.port.createRefund({ refundId: `fre_${i}`, intentId, amountCents: 1 }, newKey());
      expect(made.kind).toBe('succeeded');
    }
    // The list begins with the newest.
    for (const name of ['fre_204', 'fre_104', 'fre_0']) {
      expect(await bench.port.findRefund(intentId, name)).toMatchObject({ kind: 'succeeded', amountCents: 1 });
    }
    expect(await bench.port.findRefund(intentId, 'fre_205')).toEqual({ kind: 'none' });
    expect(await bench.port.findRefund(intentId, 'fre_0', { timeoutMs: 0 })).toMatchObject({ kind: 'unknown' });
  });

  test('a pending refund succeeds later', async () => {
    const bench = await newBench();
    const intentId = await charged(bench, 'refund_pending');
    const refund = await bench.port.createRefund({ refundId: 'fre_1', intentId, amountCents: 600 }, newKey());
    if (refund.kind !== 'pending') throw new Error(refund.kind);
    expect((await bench.bank.succeedRefund(refund.refundId)).kind).toBe('succeeded');
  });

  test('a dispute: opened, answered, decided; its movements can be read', async () => {
    const bench = await newBench();
    const paid = await confirmed(bench, 'credit');
    if (paid.kind !== 'succeeded') throw new Error(paid.kind);
    const opened = await bench.bank.disputeCharge({ chargeId: paid.chargeId, amountCents: 400, reason: 'general' });
    expect(opened).toMatchObject({
      kind: 'found',
      amountCents: 400,
      status: 'needs_response',
      chargeId: paid.chargeId,
    });
    if (opened.kind !== 'found') return;
    const { disputeId, balanceTransactionIds } = opened;
    expect(
      await bench.port.updateDispute(disputeId, { evidence: { product_description: 'x' }, submit: true }, newKey()),
    ).toMatchObject({
      status: 'under_review',
      submissionCount: 1,
    });
    expect(await bench.bank.decideDispute(disputeId, 'won')).toMatchObject({ status: 'won' });
    expect(await bench.port.retrieveBalanceTransaction(String(balanceTransactionIds[0]))).toMatchObject({
      kind: 'found',
      amountCents: -400,
    });
    expect(await bench.port.retrieveCharge(paid.chargeId)).toMatchObject({
      kind: 'found',
      disputed: true,
      amountCapturedCents: 1000,
    });
    expect((await bench.port.closeDispute(disputeId, newKey())).kind).toBe('rejected');
  });
});
