import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { books, eventsOf, type Fixture, openFixture, someScope, under, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

describe('refunding a session', () => {
  it('answers with a pending refund and the session, and then refunds the money once [REF-2, EVT-3]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 4_000 });
    const answer = await on.refunds.refundSession(
      { sessionId: session.id, instruction: { amountCents: 1_500n }, metadata: { why: 'too small' } },
      on.as(scope),
    );
    const refundId = answer.refund?.refundId ?? '';
    expect(answer.refund).toMatchObject({
      status: 'pending',
      amountCents: 1_500n,
      checkoutSessionId: session.id,
      metadata: { why: 'too small' },
      createdAtMs: 1_700_000_000_123n,
      paymentIntentId: session.cards[0]?.paymentIntentId,
      items: [{ amountRefundedCents: 1_500n, paymentMethodId: session.cards[0]?.paymentMethodId }],
    });
    expect(answer.session).toMatchObject({ amountRefundedCents: 1_500n, refundIds: [refundId] });
    const done = await untilStatus(on, scope, refundId, 'succeeded');
    expect(done.balanceTransactionId).toMatch(/^fbtxn_/);
    expect(done.failureBalanceTransactionId).toBeUndefined();
    const reference = { referenceType: 'acquirer_reference_number', referenceStatus: 'available' };
    expect(done).toMatchObject({ ...reference, items: [reference] });
    expect(done.referenceId).toMatch(/^\d{23}$/);
    expect(await on.atProcessor(session)).toMatchObject([{ amount: 1_500, status: 'succeeded' }]);
    expect(await eventsOf(on, refundId)).toEqual(['refund.created', 'refund.updated']);
    expect(await books(on, scope)).toEqual({ refunds: 1_500, refunds_payable: 0, processor_balance: -1_500 });
  });

  it('shows a refund and its parts as they are at one moment', async () => {
    const scope = someScope();
    for (let round = 0; round < 10; round++) {
      const session = await on.paid(scope, { hsa: 4_000 });
      const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
      const id = refund?.refundId ?? '';
      const seen = await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (const states: string[] = []; ; ) {
            const read = await on.refunds.getRefund({ id }, on.as(scope));
            states.push(`${read.referenceStatus} of ${read.items.map((item) => item.referenceStatus)}`);
            if (read.status === 'succeeded') return states;
          }
        }),
      );
      const torn = ['available of undefined', 'undefined of available'];
      expect(seen.flat().filter((state) => torn.includes(state))).toEqual([]);
    }
  });

  it('gives each card its part of a split session [SREF-3, D13.8]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 3_000, credit: 1_200 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    expect(refund?.items.map(({ amountRefundedCents }) => amountRefundedCents)).toEqual([3_000n, 1_200n]);
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    expect((await on.atProcessor(session)).map(({ amount }) => amount).sort()).toEqual([1_200, 3_000]);
  });

  it('takes two requests without a key for two refunds', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 700n } };
    const ask = () => on.refunds.refundSession(request, on.as(scope));
    const [one, two] = [await ask(), await ask()];
    expect(one.refund?.refundId).not.toBe(two.refund?.refundId);
    await expect(ask()).rejects.toMatchObject({ code: 'refund_amount_exceeds_remaining' });
    const { refunds } = await on.refunds.listRefunds({ checkoutSessionId: session.id }, on.as(scope));
    expect(refunds).toHaveLength(2);
  });

  it('does not refund more than was captured to 16 concurrent requests', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 1_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 300n } };
    const asked = await Promise.allSettled(
      Array.from({ length: 16 }, () => on.refunds.refundSession(request, on.as(scope))),
    );
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    const { refunds } = await on.refunds.listRefunds({ checkoutSessionId: session.id }, on.as(scope));
    for (const { refundId } of refunds) await untilStatus(on, scope, refundId, 'succeeded');
    expect((await on.atProcessor(session)).reduce((sum, { amount }) => sum + amount, 0)).toBe(900);
  });

  it('refuses an unknown session, and leaves nothing to be seen', async () => {
    const scope = someScope();
    await expect(on.refunds.refundSession({ sessionId: 'fcs_x' }, on.as(scope))).rejects.toMatchObject({
      code: 'checkout_session_not_found',
    });
    expect((await on.refunds.listRefunds({}, on.as(scope))).refunds).toEqual([]);
  });

  it('requests an allocation to payment methods with the features of the caller', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 1_000 });
    const paymentMethodId = session.cards[0]?.paymentMethodId ?? '';
    const request = { sessionId: session.id, instruction: { methods: [{ paymentMethodId, amountCents: 400n }] } };
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
      code: 'payment_method_allocation_not_enabled',
    });
    const enabled = on.as(scope, ['refund_payment_methods']);
    expect((await on.refunds.refundSession(request, enabled)).refund?.status).toBe('pending');
  });
});

describe('an Idempotency-Key on a session refund', () => {
  it('gives the same answer again, and refunds once', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 500n }, idempotency: under('k') };
    const first = await on.refunds.refundSession(request, on.as(scope));
    await untilStatus(on, scope, first.refund?.refundId ?? '', 'succeeded');
    expect(await on.refunds.refundSession(request, on.as(scope))).toEqual(first);
    expect(await on.atProcessor(session)).toHaveLength(1);
  });

  it('is refused with another body', async () => {
    const scope = someScope();
    const { id: sessionId } = await on.paid(scope, { hsa: 2_000 });
    await on.refunds.refundSession({ sessionId, idempotency: under('k', 'one') }, on.as(scope));
    const other = on.refunds.refundSession({ sessionId, idempotency: under('k', 'two') }, on.as(scope));
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('gives a refusal again', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 2_500n }, idempotency: under('k') };
    const refused = { code: 'refund_amount_exceeds_remaining' };
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject(refused);
    on.checkout.trouble('busy');
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject(refused);
    on.checkout.trouble();
    expect(await on.atProcessor(session)).toEqual([]);
  });

  it('makes one refund of 16 requests at once', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 9_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 100n }, idempotency: under('k') };
    const answers = await Promise.allSettled(
      Array.from({ length: 16 }, () => on.refunds.refundSession(request, on.as(scope))),
    );
    const ids = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value.refund?.refundId] : []));
    expect(new Set(ids).size).toBe(1);
    for (const one of answers) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'idempotency_key_in_use' });
    }
    await untilStatus(on, scope, ids[0] ?? '', 'succeeded');
    expect(await on.atProcessor(session)).toHaveLength(1);
  });

  it('is in use while the sweeper has its refund in hand, and replays what came of it', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 4_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 700n }, idempotency: under('k') };
    on.checkout.trouble('lost_before');
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    // Claimed by another process, which is about to ask checkout.
    await on.admin(
      `update refunds.refunds set lease_until = now() + interval '20 seconds', epoch = epoch + 1 where account_id = $1`,
      [scope.accountId],
    );
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    await on.sweep();
    expect((await on.refunds.refundSession(request, on.as(scope))).refund).toMatchObject({ amountCents: 700n });
    expect((await on.refunds.listRefunds({}, on.as(scope))).refunds).toHaveLength(1);
  });

  it('starts over when the first request could not begin', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, idempotency: under('k') };
    on.checkout.trouble('busy');
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({ code: 'lock_timeout' });
    const { refund } = await on.refunds.refundSession(request, on.as(scope));
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    expect(await on.atProcessor(session)).toHaveLength(1);
  });

  it.each(['lost_before', 'lost_after'] as const)(
    'goes on with what was begun when checkout is %s',
    async (trouble) => {
      const scope = someScope();
      const session = await on.paid(scope, { hsa: 2_000 });
      const request = { sessionId: session.id, instruction: { amountCents: 800n }, idempotency: under('k') };
      on.checkout.trouble(trouble);
      await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
        code: 'idempotency_key_in_use',
      });
      const answer = await on.refunds.refundSession(request, on.as(scope));
      expect(answer.session?.amountRefundedCents).toBe(800n);
      await untilStatus(on, scope, answer.refund?.refundId ?? '', 'succeeded');
      expect(await on.atProcessor(session)).toHaveLength(1);
      expect(await on.refunds.refundSession(request, on.as(scope))).toEqual(answer);
    },
  );
});

describe('POST /v1/refunds', () => {
  it('refunds the whole of a payment intent when no amount is given [REF-3, REF-4, REF-5]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000, credit: 900 });
    const paymentIntentId = session.cards[1]?.paymentIntentId ?? '';
    const refund = await on.refunds.createRefund({ paymentIntentId, reason: 'duplicate' }, on.as(scope));
    expect(refund).toMatchObject({ amountCents: 900n, reason: 'duplicate', paymentIntentId, status: 'pending' });
    await untilStatus(on, scope, refund.refundId, 'succeeded');
    expect(await eventsOf(on, refund.refundId)).toEqual(['refund.created', 'refund.updated']);
  });

  it('names the body when the payment intent is unknown', async () => {
    const paymentIntentId = 'fpi_01arz3ndektsv4rrffq69g5fav';
    await expect(on.refunds.createRefund({ paymentIntentId }, on.as(someScope()))).rejects.toMatchObject({
      violations: [
        {
          loc: ['body', 'refund', 'payment_intent_id'],
          type: 'payment_intent_not_found',
          msg: `payment_intent_not_found: ${paymentIntentId}`,
        },
      ],
    });
  });

  it('replays the same key and body, and runs another body as new', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const paymentIntentId = session.cards[0]?.paymentIntentId ?? '';
    const ask = (amountCents: bigint, body: string) =>
      on.refunds.createRefund({ paymentIntentId, amountCents, idempotency: under('k', body) }, on.as(scope));
    const first = await ask(300n, 'a');
    expect(await ask(300n, 'a')).toEqual(first);
    expect((await ask(400n, 'b')).refundId).not.toBe(first.refundId);
  });
});

describe('a refund', () => {
  it('belongs to its account and mode alone', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    for (const other of [someScope(), { ...scope, testMode: false }]) {
      const unknown = { code: 'refund_not_found' };
      await expect(on.refunds.getRefund({ id }, on.as(other))).rejects.toMatchObject(unknown);
      await expect(on.refunds.updateRefund({ id, reason: 'mine' }, on.as(other))).rejects.toMatchObject(unknown);
      expect((await on.refunds.listRefunds({}, on.as(other))).refunds).toEqual([]);
    }
  });

  it('takes a reason and metadata later', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id, metadata: { a: '1' } }, on.as(scope));
    const id = refund?.refundId ?? '';
    await untilStatus(on, scope, id, 'succeeded');
    expect(await on.refunds.updateRefund({ id, reason: 'damaged' }, on.as(scope))).toMatchObject({
      reason: 'damaged',
      metadata: { a: '1' },
    });
    const replaced = await on.refunds.updateRefund({ id, metadata: { b: '2' }, replaceMetadata: true }, on.as(scope));
    expect(replaced).toMatchObject({ metadata: { b: '2' }, reason: 'damaged' });
  });

  it('is returned without a write or an event where an update equals it [D1.2]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const metadata = { a: '1', b: '2' };
    const { refund } = await on.refunds.refundSession({ sessionId: session.id, metadata }, on.as(scope));
    const id = refund?.refundId ?? '';
    await untilStatus(on, scope, id, 'succeeded');
    await on.refunds.updateRefund({ id, reason: 'damaged' }, on.as(scope));
    const before = await versionOf(id);
    const told = await eventsOf(on, id);
    for (const same of [
      {},
      { reason: 'damaged' },
      { metadata: { b: '2', a: '1' }, replaceMetadata: true },
      { reason: 'damaged', metadata, replaceMetadata: true },
    ]) {
      expect(await on.refunds.updateRefund({ id, ...same }, on.as(scope))).toMatchObject({
        reason: 'damaged',
        metadata,
      });
    }
    expect(await versionOf(id)).toEqual(before);
    expect(await eventsOf(on, id)).toEqual(told);
    await on.refunds.updateRefund({ id, metadata: { a: '1' }, replaceMetadata: true }, on.as(scope));
    expect(await eventsOf(on, id)).toEqual([...told, 'refund.updated']);
  });

  it('is previewed without anything being kept [SREF-6]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000, credit: 500 });
    const request = { sessionId: session.id, instruction: { amountCents: 2_100n } };
    const { allocations } = await on.refunds.previewRefund(request, on.as(scope));
    expect(allocations.map(({ amountCents }) => amountCents)).toEqual([2_000n, 100n]);
    expect((await on.refunds.listRefunds({}, on.as(scope))).refunds).toEqual([]);
    expect(await on.atProcessor(session)).toEqual([]);
  });

  it('is listed newest first, by session and by intent', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000, credit: 500 });
    const made: string[] = [];
    for (const amountCents of [100n, 200n, 300n]) {
      const request = { sessionId: session.id, instruction: { amountCents } };
      const { refund } = await on.refunds.refundSession(request, on.as(scope));
      made.unshift(refund?.refundId ?? '');
    }
    const ids = async (request: Parameters<typeof on.refunds.listRefunds>[0]) =>
      (await on.refunds.listRefunds(request, on.as(scope))).refunds.map(({ refundId }) => refundId);
    expect(await ids({ page: { limit: 10n } })).toEqual(made);
    expect(await ids({ page: { limit: 1n, startingAfter: made[0] ?? '' } })).toEqual([made[1]]);
    expect(await ids({ checkoutSessionId: session.id })).toEqual(made);
    expect(await ids({ paymentIntentId: session.cards[0]?.paymentIntentId ?? '' })).toEqual(made);
    expect(await ids({ paymentIntentId: session.cards[1]?.paymentIntentId ?? '' })).toEqual([]);
  });
});

// Every write of a refund raises it.
function versionOf(refundId: string) {
  return on.admin('select version from refunds.refunds where id = $1', [refundId]);
}
