import { create, fromBinary } from '@bufbuild/protobuf';
import { handleOnce } from '@eligo/events';
import { withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { RefundSchema } from '@eligo/proto/refunds/v1/refunds';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { refundReceipts } from '../src/consumers/refund-receipts.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { lockRefundedSession } from '../src/store/refund-facts.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

async function paidSession(taxAmountCents = 0n): Promise<Session> {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(hsa, { taxAmountCents });
  return completeSession(fixture.context, fixture.scope, {
    sessionId: session.id,
    paymentMethodIds: [hsa.id, credit.id],
    shippingDetails: null,
  });
}

const reserve = (
  session: Session,
  instruction: Partial<RefundInstruction> = {},
  refundId = newId('refund'),
  preview = false,
) =>
  reserveRefund(fixture.context, fixture.scope, {
    refundId,
    sessionId: session.id,
    paymentIntentId: null,
    instruction: { entries: [], methods: [], ...instruction },
    features: [],
    preview,
  });

describe('taking a refund out of what remains', () => {
  it('refunds each card, lowers the remaining balance, and publishes one event [EVT-1, SREF-5]', async () => {
    const session = await paidSession();
    const reserved = await reserve(session);
    expect(reserved.cards.map((card) => card.amountCents).sort()).toEqual([4_000, 6_000]);
    expect(reserved.session).toMatchObject({ amountRefundedCents: 10_000 });
    await expect(reserve(session)).rejects.toMatchObject({ code: 'refund_amount_exceeds_remaining' });
  });

  it('is idempotent by the refund’s id', async () => {
    const session = await paidSession();
    const refundId = newId('refund');
    const first = await reserve(session, { amount: cents(500) }, refundId);
    const again = await reserve(session, { amount: cents(500) }, refundId);
    expect(again.cards.map((card) => card.amountCents)).toEqual(first.cards.map((card) => card.amountCents));
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(500);
  });

  it('answers what was reserved also when the account has lost the feature that it took', async () => {
    const session = await paidSession();
    const [card] = (await reserve(session, { amount: cents(1) }, newId('refund'), true)).cards;
    const methods = [{ paymentMethodId: card?.intent.paymentMethodId ?? '', amount: cents(300) }];
    const reservation = {
      ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, preview: false },
      instruction: { entries: [], amount: cents(300), methods },
    };
    for (const features of [['refund_payment_methods'], []]) {
      const { cards } = await reserveRefund(fixture.context, fixture.scope, { ...reservation, features });
      expect(cards.map((one) => one.amountCents)).toEqual([300]);
    }
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(300);
  });

  it('reserves nothing for a preview', async () => {
    const session = await paidSession();
    await reserve(session, { amount: cents(500) }, newId('refund'), true);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(0);
  });

  it('never refunds more than was captured, in 200 refunds at once [D6.5]', async () => {
    const session = await paidSession();
    const answers = await Promise.allSettled(
      Array.from({ length: 200 }, () => reserve(session, { amount: cents(100) })),
    );
    const given = answers.filter((answer) => answer.status === 'fulfilled').length;
    const now = await loadSession(fixture.database, fixture.scope, session.id);
    expect(now?.amountRefundedCents).toBe(given * 100);
    expect(given).toBeLessThanOrEqual(100);
  });

  it('restores the remaining balance after a card’s refund failed, once [D6.5]', async () => {
    const session = await paidSession();
    const refundId = newId('refund');
    const { cards } = await reserve(session, {}, refundId);
    const failed = cards[0]?.intent.id ?? '';
    for (const _ of [1, 2]) await releaseRefund(fixture.context, fixture.scope, refundId, [failed]);
    const now = await loadSession(fixture.database, fixture.scope, session.id);
    expect(now?.amountRefundedCents).toBe(10_000 - (cards[0]?.amountCents ?? 0));
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(0);
    expect((await reserve(session)).session?.amountRefundedCents).toBe(10_000);
  });

  it('restores its tax when all of its cards have failed, and not with the first of them', async () => {
    const session = await paidSession(1_000n);
    const refundId = newId('refund');
    const { cards } = await reserve(session, { tax: cents(1_000) }, refundId);
    const refundedTax = async () => {
      const locked = await withTx(fixture.database, fixture.scope, (tx) =>
        lockRefundedSession(tx, fixture.scope, session.id),
      );
      return locked?.refunded.tax;
    };
    const taxAfter: (number | undefined)[] = [];
    for (const { intent } of cards) {
      taxAfter.push(await refundedTax());
      await releaseRefund(fixture.context, fixture.scope, refundId, [intent.id]);
    }
    expect([...taxAfter, await refundedTax()]).toEqual([1_000, 1_000, 0]);
  });

  it('closes an id that nothing is reserved under: a reservation that comes later is refused [D14.43]', async () => {
    const session = await paidSession();
    const refundId = newId('refund');
    for (const keepReserved of [true, false]) {
      await expect(releaseRefund(fixture.context, fixture.scope, refundId, [], keepReserved)).resolves.toBeUndefined();
    }
    await expect(reserve(session, { amount: cents(500) }, refundId)).rejects.toMatchObject({ code: 'conflict' });
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(0);
  });

  it('keeps a reservation when its id is only closed, and never repeats a released reservation', async () => {
    const session = await paidSession();
    const refundId = newId('refund');
    await reserve(session, { amount: cents(500) }, refundId);
    await releaseRefund(fixture.context, fixture.scope, refundId, [], true);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(500);
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    await expect(reserve(session, { amount: cents(500) }, refundId)).rejects.toMatchObject({ code: 'conflict' });
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(0);
  });

  it('is reserved or closed, and never both, when the two meet', async () => {
    const session = await paidSession();
    for (let round = 0; round < 20; round++) {
      const refundId = newId('refund');
      const before = (await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents ?? 0;
      const [reserved] = await Promise.allSettled([
        reserve(session, { amount: cents(100) }, refundId),
        releaseRefund(fixture.context, fixture.scope, refundId, [], true),
      ]);
      const taken = reserved.status === 'fulfilled' ? 100 : 0;
      expect((await loadSession(fixture.database, fixture.scope, session.id))?.amountRefundedCents).toBe(
        before + taken,
      );
      const again = await reserve(session, { amount: cents(100) }, refundId).catch(() => undefined);
      expect(again === undefined ? 0 : 100).toBe(taken);
    }
  });

  it('holds its limits without the code: the constraints alone refuse', async () => {
    const session = await paidSession();
    for (const broken of [
      ['update checkout.session_lines set amount_refunded_cents = amount_captured_cents + 1 where session_id = $1'],
      ['update checkout.payment_intents set amount_refunded_cents = amount_received_cents + 1 where session_id = $1'],
      ['update checkout.sessions set amount_refunded_cents = amount_received_cents + 1 where id = $1'],
    ]) {
      await expect(fixture.test.admin(broken[0] ?? '', [session.id])).rejects.toMatchObject({ code: '23514' });
    }
  });

  it('enforces without the code that a session refunds what its cards and its lines do', async () => {
    const session = await paidSession();
    const given = 'update checkout.sessions set amount_refunded_cents = 100 where id = $1';
    const byCard = `update checkout.payment_intents set amount_refunded_cents = 100 where session_id = $1 and leg = 'health'`;
    for (const [text, constraint] of [
      [given, 'session_money_is_its_cards'],
      [`with card as (${byCard}) ${given}`, 'session_money_is_its_lines'],
    ] as const) {
      await expect(fixture.test.admin(text, [session.id])).rejects.toMatchObject({ constraint });
    }
  });

  it('holds without the code that a reservation is the sum of its cards, and of its lines', async () => {
    for (const [cards, lines, constraint] of [
      [99, 100, 'refund_is_the_sum_of_its_cards'],
      [100, 101, 'refund_is_the_sum_of_its_lines'],
    ] as const) {
      const refundId = newId('refund');
      await expect(
        fixture.test.admin(
          `with whole as (
             insert into checkout.refund_reservations (account_id, test_mode, refund_id, session_id, amount_cents, acting_at)
             values ($1, true, $2, 'fcs_x', 100, now())
           ), cards as (
             insert into checkout.refund_reservation_parts (account_id, test_mode, refund_id, payment_intent_id, amount_cents)
             values ($1, true, $2, 'fpi_x', $3)
           ) insert into checkout.refund_reservation_lines (account_id, test_mode, refund_id, line_id, payment_intent_id, amount_cents)
             values ($1, true, $2, 'fli_x', 'fpi_x', $4)`,
          [fixture.scope.accountId, refundId, cards, lines],
        ),
      ).rejects.toMatchObject({ constraint });
    }
  });

  it('refuses explicit payment methods without the feature, and a session that was not captured', async () => {
    const session = await paidSession();
    const methods = [{ paymentMethodId: newId('payment_method'), amount: cents(1) }];
    await expect(reserve(session, { amount: cents(1), methods })).rejects.toMatchObject({
      code: 'payment_method_allocation_not_enabled',
    });
    const unpaid = await fixture.mixedSession(await fixture.card('hsa'));
    await expect(reserve(unpaid)).rejects.toMatchObject({ code: 'checkout_session_not_captured' });
  });

  it('keeps the ledger balanced with the records [D6.6]', async () => {
    const session = await paidSession();
    const refundId = newId('refund');
    await reserve(session, { amount: cents(700) }, refundId);
    const [sums] = await fixture.test.admin<{ captured: string; refunded: string }>(
      `select sum(amount_cents) filter (where kind = 'capture') as captured,
         sum(amount_cents) filter (where kind = 'refund_reserved') as refunded
       from checkout.ledger_entries where payment_intent_id = any($1)`,
      [session.paymentIntentIds],
    );
    expect(sums).toEqual({ captured: '10000', refunded: '700' });
  });
});

describe('charging an invoice', () => {
  const charge = async (card: { id: string; customerId: string }, operationId: string, invoiceId: string) =>
    chargeInvoice(fixture.context, fixture.scope, {
      operationId,
      invoiceId,
      subscriptionId: newId('subscription'),
      customerId: card.customerId,
      paymentMethodId: card.id,
      amountCents: cents(2_500),
      leg: 'health',
      at: new Date(),
    });

  it('charges once per operation id, however often it is asked and from how many at once', async () => {
    const card = await fixture.card('hsa');
    const [operation, invoice] = [newId('charge_attempt'), newId('invoice')];
    await Promise.all([1, 2, 3, 4].map(() => charge(card, operation, invoice)));
    expect(await charge(card, operation, invoice)).toMatchObject({ outcome: 'succeeded' });
    const attempts = await fixture.test.admin(
      "select 1 from checkout.charge_attempts where subject_id = $1 and status = 'succeeded'",
      [invoice],
    );
    expect(attempts).toHaveLength(1);
  });

  it('gives a decline again for its operation, and takes another operation for the same invoice', async () => {
    const declined = await fixture.card('insufficient_funds');
    const [operation, invoice] = [newId('charge_attempt'), newId('invoice')];
    for (const _ of [1, 2]) {
      expect(await charge(declined, operation, invoice)).toMatchObject({
        outcome: 'declined',
        declineCode: 'insufficient_funds',
      });
    }
    expect(await charge(await fixture.card('hsa'), newId('charge_attempt'), invoice)).toMatchObject({
      outcome: 'succeeded',
    });
  });

  it('is unknown when the answer was lost, blocks the next try, and is resolved by the sweeper', async () => {
    const card = await fixture.card('hsa');
    const [operation, invoice] = [newId('charge_attempt'), newId('invoice')];
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    expect(await charge(card, operation, invoice)).toMatchObject({ outcome: 'unknown' });
    expect(await charge(card, newId('charge_attempt'), invoice)).toMatchObject({ outcome: 'unknown' });
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await charge(card, operation, invoice)).toMatchObject({ outcome: 'succeeded' });
  });
});

describe('the guard of a reservation', () => {
  it.each([
    ['refund_reservations_amount_cents_check', `'fcs_1', 0, 0, 0, 0`],
    ['refund_reservations_tax_cents_check', `'fcs_1', 1, -1, 0, 0`],
    ['refund_reservations_shipping_cents_check', `'fcs_1', 1, 0, -1, 0`],
    ['refund_reservations_discount_cents_check', `'fcs_1', 1, 0, 0, -1`],
    ['refund_reservations_check', `null, 1, 0, 0, 0`],
  ])('holds %s', async (constraint, values) => {
    const written = fixture.test.admin(
      `insert into checkout.refund_reservations (account_id, test_mode, refund_id, session_id, amount_cents, tax_cents, shipping_cents,
         discount_cents, acting_at) select $1, true, 'fre_guard', v.*, now() from (values (${values})) v`,
      [fixture.scope.accountId],
    );
    await expect(written).rejects.toMatchObject({ constraint });
  });
});

describe('the receipt of a refund [D14.169]', () => {
  const told = async (session: Session, refundId: string, status = 'succeeded', seq = 1) => {
    const value = create(RefundSchema, { refundId, checkoutSessionId: session.id, status });
    const event = create(EventSchema, {
      ...{ eventId: newId('event'), type: 'refund.updated', aggregateId: refundId, aggregateSeq: BigInt(seq) },
      ...{ ...fixture.scope, occurredAtMs: BigInt(Date.parse('2026-04-02')), object: { case: 'refund', value } },
    });
    await handleOnce(fixture.database, refundReceipts.consumer, event, refundReceipts.handle);
    const rows = await fixture.test.admin<{ payload: Buffer }>(
      "select payload from checkout.outbox where type = 'command.receipt.refund' and aggregate_id = $1 order by aggregate_seq",
      [refundId],
    );
    return rows.map(({ payload }) => {
      const { object } = fromBinary(EventSchema, payload);
      if (object.case !== 'issueRefundReceipt') throw new Error('the command has no receipt');
      return object.value;
    });
  };
  const withReceipt = async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa, {
      ...{ receiptMerchantName: 'Care', customerEmail: 'ann@example.com' },
    });
    return completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
    });
  };

  it('is asked for once the refund is decided, with what each card got back of each item, and what stands of it', async () => {
    const session = await withReceipt();
    await fixture.test.admin(
      "update checkout.payment_intents set created_at = '2025-12-29T18:00:00Z' where session_id = $1",
      [session.id],
    );
    const refundId = newId('refund');
    const { cards } = await reserve(session, {}, refundId);
    expect(await told(session, refundId, 'pending')).toEqual([]);
    const [first] = await told(session, refundId, 'succeeded', 2);
    expect(first).toMatchObject({ refundId, amountCents: 10_000n, email: 'ann@example.com', merchantName: 'Care' });
    expect(first?.cards.map(({ leg, amountCents }) => [leg, amountCents]).sort()).toEqual([
      ['health', 4_000n],
      ['other', 6_000n],
    ]);
    // As the receipt of the purchase says it (decisions 14.308).
    expect(new Date(Number(first?.purchasedAtMs)).toISOString()).toBe('2025-12-29T18:00:00.000Z');
    expect(first?.items.reduce((sum, { amountCents }) => sum + amountCents, 0n)).toBe(10_000n);
    const health = cards.find(({ intent }) => intent.leg === 'health')?.intent.id ?? '';
    await releaseRefund(fixture.context, fixture.scope, refundId, [health]);
    // An event that is handled late says what stands now, too.
    const [, second] = await told(session, refundId, 'succeeded', 3);
    expect([second?.amountCents, second?.cards.map(({ leg }) => leg)]).toEqual([6_000n, ['other']]);
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    const [, , third] = await told(session, refundId, 'failed', 4);
    expect([third?.amountCents, third?.items]).toEqual([0n, []]);
  });

  it('is not asked for where the shopper gets none', async () => {
    const session = await paidSession();
    const refundId = newId('refund');
    await reserve(session, {}, refundId);
    expect(await told(session, refundId)).toEqual([]);
  });
});
