import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { cents } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { carryOutAttempt } from '../src/actions/carry-out-attempt.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Context } from '../src/context.ts';
import { type Failpoint, refundFailpoints } from '../src/failpoints.ts';
import type { PaidSession } from './fake-checkout.ts';
import { books, eventsOf, type Fixture, openFixture, someScope, under, untilStatus } from './fixture.ts';
import { refundByCaptureTests } from './refunds-by-capture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => {
  turnFailpointsOff();
  turnFailpointsOn();
});

const unknownAttempts = `select 1 from refunds.refund_attempts where refund_id = $1 and status = 'unknown'`;
const onlyWhenFailing: readonly Failpoint[] = ['refund.after_release', 'refund.after_failure'];

describe('a process that stops at any step', () => {
  it.each(refundFailpoints.filter((name) => !onlyWhenFailing.includes(name)))(
    'at %s loses no refund and makes none twice, whoever goes on: the sweeper, or a retry',
    async (name) => {
      for (const retry of [false, true]) {
        const scope = someScope();
        const session = await on.paid(scope, { hsa: 2_000 });
        const request = { sessionId: session.id, instruction: { amountCents: 600n }, idempotency: under('k') };
        armFailpoint(name, { action: 'error' });
        const first = await on.refunds.refundSession(request, on.as(scope)).catch(() => undefined);
        await on.restart();
        if (retry) await on.refunds.refundSession(request, on.as(scope)).catch(() => undefined);
        for (let i = 0; i < 3; i++) await on.sweep();

        const { refunds } = await on.refunds.listRefunds({}, on.as(scope));
        expect(refunds).toHaveLength(1);
        const refundId = refunds[0]?.refundId ?? '';
        await untilStatus(on, scope, refundId, 'succeeded');
        if (first?.refund !== undefined) expect(first.refund.refundId).toBe(refundId);
        expect(await on.atProcessor(session)).toMatchObject([{ amount: 600, status: 'succeeded' }]);
        expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(600n);
        expect(await eventsOf(on, refundId)).toEqual(['refund.created', 'refund.updated']);
        expect(await books(on, scope)).toEqual({ refunds: 600, refunds_payable: 0, processor_balance: -600 });
        const replayed = await on.refunds.refundSession(request, on.as(scope));
        expect(replayed.refund).toMatchObject({ refundId, status: 'pending' });
        expect(replayed.session?.amountRefundedCents).toBe(600n);
      }
    },
  );

  it.each(onlyWhenFailing)('at %s gives a failed refund back to the rest once', async (name) => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await untilStatus(on, scope, id, 'succeeded');
    armFailpoint(name, { action: 'error' });
    await on.refunds.settleTestRefund({ id, succeed: false }, on.as(scope)).catch(() => undefined);
    await on.restart();
    await on.sweep();
    await untilStatus(on, scope, id, 'failed');
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(0n);
    expect(await books(on, scope)).toEqual({ refunds: 0, refunds_payable: 0, processor_balance: 0 });
    expect(await eventsOf(on, id)).toEqual(['refund.created', 'refund.updated', 'refund.updated']);
  });
});

describe('a checkout whose answer was lost', () => {
  it('may have reserved the refund: that it is busy at the next try does not make it forgotten', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 600n }, idempotency: under('k') };
    on.checkout.trouble('lost_after', 'busy');
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({ code: 'lock_timeout' });
    const { refund } = await on.refunds.refundSession(request, on.as(scope));
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(600n);
    expect(await on.atProcessor(session)).toMatchObject([{ amount: 600, status: 'succeeded' }]);
  });
});

describe('a reservation that is lost on its way', () => {
  const reservedOf = (session: PaidSession) => on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '');

  it('reserves nothing when it arrives after the refund was refused [D14.43]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 600n }, idempotency: under('k') };
    on.checkout.trouble('late');
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    const whole = (await on.refunds.refundSession({ sessionId: session.id }, on.as(scope))).refund?.refundId ?? '';
    for (const _ of ['refused', 'refused again']) {
      await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
        code: 'refund_amount_exceeds_remaining',
      });
    }
    await untilStatus(on, scope, whole, 'succeeded');
    await on.refunds.settleTestRefund({ id: whole, succeed: false }, on.as(scope));
    expect(on.checkout.delivers()).toBe(1);
    expect(reservedOf(session)).toBe(0n);
  });

  it('is the refund after all when it comes in before the refusal is final [D14.43]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const methods = [{ paymentMethodId: session.cards[0]?.paymentMethodId ?? '', amountCents: 600n }];
    const request = { sessionId: session.id, instruction: { amountCents: 600n, methods }, idempotency: under('k') };
    on.checkout.trouble('late');
    await on.refunds.refundSession(request, on.as(scope, ['refund_payment_methods'])).catch(() => undefined);
    // The account has lost the feature: refused; but what was asked for with it arrives just before the id is closed.
    on.checkout.trouble(undefined, 'overtaken');
    const { refund } = await on.refunds.refundSession(request, on.as(scope));
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    expect(reservedOf(session)).toBe(600n);
    expect(await on.atProcessor(session)).toMatchObject([{ amount: 600, status: 'succeeded' }]);
  });

  it('is refused for good only when checkout has heard that its id is closed', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 2_600n }, idempotency: under('k') };
    on.checkout.trouble('late', undefined, 'lost_before');
    for (const code of ['idempotency_key_in_use', 'idempotency_key_in_use', 'refund_amount_exceeds_remaining']) {
      await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({ code });
    }
    on.checkout.paid({ ...session, cards: session.cards.map((card) => ({ ...card, captured: 9_000n })) });
    expect(on.checkout.delivers()).toBe(1);
    expect(reservedOf(session)).toBe(0n);
  });

  it('is not refused by a process that comes to it too late', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const request = { sessionId: session.id, instruction: { amountCents: 2_600n }, idempotency: under('k') };
    const claimed = `update refunds.refunds set epoch = epoch + 1 where account_id = $1`;
    on.checkout.beforeAnswering = () => on.admin(claimed, [scope.accountId]).then(() => undefined);
    await expect(on.refunds.refundSession(request, on.as(scope))).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    on.checkout.beforeAnswering = undefined;
    const [row] = await on.admin('select status from refunds.refunds where account_id = $1', [scope.accountId]);
    expect(row).toEqual({ status: 'requested' });
  });
});

describe('a processor that does not answer', () => {
  it.each([
    ['error_before', 'it did nothing, and gives its 500 again under that key'],
    ['error_after', 'it did it, and gives its 500 again under that key'],
    ['drop_before', 'it never got the request'],
    ['drop_after', 'it did it, and the answer was lost'],
    ['late', 'it does it a second later'],
    ['in_progress', 'it says that it is at it'],
  ])('for %s (%s) is asked until it is known, and gives back once', async (kind) => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    await on.fault({ call: 'refunds.create', kind, delay_ms: 1_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    for (let i = 0; i < 4; i++) await on.sweep();
    await untilStatus(on, scope, id, 'succeeded');
    await new Promise((resolve) => setTimeout(resolve, kind === 'late' ? 1_500 : 0));
    expect(await on.atProcessor(session)).toMatchObject([{ amount: 2_000, status: 'succeeded' }]);
    expect(await books(on, scope)).toEqual({ refunds: 2_000, refunds_payable: 0, processor_balance: -2_000 });
    expect(await eventsOf(on, id)).toEqual(['refund.created', 'refund.updated']);
  });

  it('is only looked up, and not asked again, when it may have forgotten the key', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    await on.fault({ call: 'refunds.create', kind: 'drop_after' });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await waitUntil(async () => (await on.admin(unknownAttempts, [id])).length === 1);
    await on.admin(
      `update refunds.refund_attempts set first_sent_at = first_sent_at - interval '23 hours' where refund_id = $1`,
      [id],
    );
    await on.sweep();
    await untilStatus(on, scope, id, 'succeeded');
    const [attempt] = await on.admin('select sends from refunds.refund_attempts where refund_id = $1', [id]);
    expect(attempt).toEqual({ sends: 1 });
    expect(await on.atProcessor(session)).toHaveLength(1);
  });
});

describe('a processor that responds again after its circuit breaker was open', () => {
  it('has unknown refunds and waiting events looked at at once, and not when they are next due [D14.246]', async () => {
    const scope = someScope();
    const refundOf = async (session: PaidSession) =>
      (await on.refunds.refundSession({ sessionId: session.id }, on.as(scope))).refund?.refundId ?? '';
    const [waits, event] = [await on.paid(scope, { hsa: 2_000 }), await on.paid(scope, { hsa: 2_000 })];
    const handled = await refundOf(event);
    await untilStatus(on, scope, handled, 'succeeded');
    await on.fault({ call: 'refunds.create', kind: 'drop_before' });
    const id = await refundOf(waits);
    await waitUntil(async () => (await on.admin(unknownAttempts, [id])).length === 1);
    await on.admin(
      `update refunds.refund_attempts set next_check_at = now() + interval '5 minutes' where refund_id = $1`,
      [id],
    );
    const [atProcessor] = await on.atProcessor(event);
    const eventId = await on.arrives(scope, 'refund.updated', atProcessor?.id ?? '');
    await on.admin(`update refunds.processor_events set next_check_at = now() + interval '5 minutes' where id = $1`, [
      eventId,
    ]);
    const settled = async () => {
      await on.service.jobs.runOnce('sweep-refunds');
      await on.service.jobs.runOnce('handle-processor-events');
      const [row] = await on.admin<{ event: string; refund: string }>(
        `select e.status as event, a.status as refund from refunds.processor_events e, refunds.refund_attempts a
          where e.id = $1 and a.refund_id = $2`,
        [eventId, id],
      );
      return row;
    };
    expect(await settled()).toEqual({ event: 'waiting', refund: 'unknown' });

    // Twelve failures in a row open the breaker; its probe finds the processor well.
    const failing = await Promise.all(Array.from({ length: 12 }, () => on.paid(scope, { hsa: 2_000 })));
    await on.fault({ call: 'refunds.create', kind: 'drop_before', times: 12 });
    await Promise.all(failing.map(refundOf));
    await waitUntil(async () => (await settled())?.refund === 'accepted', { what: 'the refund' });
    expect(await settled()).toEqual({ event: 'handled', refund: 'accepted' });
    expect(await on.atProcessor(waits)).toMatchObject([{ amount: 2_000 }]);
  });
});

refundByCaptureTests(() => on);

describe('a processor that has a refund of another amount', () => {
  it('does not match: the attempt stays unknown, and an error is logged', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    await on.fault({ call: 'refunds.create', kind: 'drop_before' });
    const { refund } = await on.refunds.refundSession(
      { sessionId: session.id, instruction: { amountCents: 600n } },
      on.as(scope),
    );
    const id = refund?.refundId ?? '';
    await waitUntil(async () => (await on.admin(unknownAttempts, [id])).length === 1);
    const [attempt] = await on.admin<{ id: string }>('select id from refunds.refund_attempts where refund_id = $1', [
      id,
    ]);
    const told: string[] = [];
    const other = { kind: 'succeeded', refundId: 're_other', amountCents: cents(599), reference: {}, metadata: {} };
    const refunds = {
      ...{ database: on.service.database, budgets: defaultBudgets, failpoint: () => undefined, wake: () => undefined },
      processors: { findAt: () => ({ isDown: () => false, createRefund: async () => other }) },
      logger: { warn: (_fields: object, message: string) => void told.push(message) },
    } as unknown as Context;
    await carryOutAttempt(refunds, scope, attempt?.id ?? '');
    expect(told).toEqual(['Processor reports a refund amount that differs from the requested amount']);
    expect(await on.admin(unknownAttempts, [id])).toHaveLength(1);
    expect(await on.refunds.getRefund({ id }, on.as(scope))).toMatchObject({ status: 'pending' });
    await on.sweep();
    await untilStatus(on, scope, id, 'succeeded');
  });
});

describe('a refund that does not go through', () => {
  it('is refused by the processor: the remaining balance is restored, and nothing is owed [D6.5]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    // Checkout believes in more than the processor has: the refusal is definite.
    const [card] = session.cards;
    on.checkout.paid({ ...session, cards: card === undefined ? [] : [{ ...card, captured: 9_000n }] });
    const request = { sessionId: session.id, instruction: { amountCents: 8_000n } };
    const { refund } = await on.refunds.refundSession(request, on.as(scope));
    const failed = await untilStatus(on, scope, refund?.refundId ?? '', 'failed');
    expect(failed).toMatchObject({ amountCents: 8_000n, items: [{ amountRefundedCents: 8_000n }] });
    expect(failed.failureBalanceTransactionId).toMatch(/^fbtxn_/);
    expect(on.checkout.refundedOf(card?.paymentIntentId ?? '')).toBe(0n);
    expect(await on.atProcessor(session)).toEqual([]);
    expect(await books(on, scope)).toEqual({ refunds: 0, refunds_payable: 0 });
    const movements = await on.admin(
      'select sum(amount_cents)::text as sum from refunds.balance_transactions where account_id = $1',
      [scope.accountId],
    );
    expect(movements).toEqual([{ sum: '0' }]);
  });

  it('is sent back by the bank after it went through, which a later look finds out [D14.6]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { refund_fails: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    await on.sweep();
    await untilStatus(on, scope, refund?.refundId ?? '', 'failed');
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(0n);
    expect(await books(on, scope)).toMatchObject({ refunds: 0, refunds_payable: 0 });
  });

  it('goes through for less when one card of two does not take its part [D14.7]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 1_500, refund_fails: 400 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await untilStatus(on, scope, id, 'succeeded');
    for (let i = 0; i < 2; i++) await on.sweep();
    const done = await untilStatus(on, scope, id, 'succeeded');
    expect(done.amountCents).toBe(1_500n);
    expect(done.items.map(({ amountRefundedCents }) => amountRefundedCents)).toEqual([1_500n, 0n]);
    expect(done.failureBalanceTransactionId).toBeDefined();
    expect(on.checkout.refundedOf(session.cards[1]?.paymentIntentId ?? '')).toBe(0n);
    expect(await books(on, scope)).toMatchObject({ refunds: 1_500, refunds_payable: 0 });
  });

  it('tells checkout until checkout has heard it', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await untilStatus(on, scope, id, 'succeeded');
    on.checkout.trouble('lost_before', 'lost_after', 'lost_before');
    await on.refunds.settleTestRefund({ id, succeed: false }, on.as(scope)).catch(() => undefined);
    for (let i = 0; i < 4; i++) await on.sweep();
    await untilStatus(on, scope, id, 'failed');
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(0n);
  });
});

describe('the helper that settles a refund', () => {
  it('makes a pending one go through [RUN-4]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { refund_pending: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    const settled = await on.refunds.settleTestRefund({ id, succeed: true }, on.as(scope));
    expect(settled.status).toBe('succeeded');
    expect(await on.refunds.settleTestRefund({ id, succeed: true }, on.as(scope))).toEqual(settled);
    expect(await eventsOf(on, id)).toEqual(['refund.created', 'refund.updated']);
  });

  it.each(['refund_pending', 'hsa'] as const)('makes one fail that was paid by %s [RUN-4]', async (card) => {
    const scope = someScope();
    const session = await on.paid(scope, { [card]: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    const failed = await on.refunds.settleTestRefund({ id, succeed: false }, on.as(scope));
    expect(failed.status).toBe('failed');
    expect(failed.failureBalanceTransactionId).toBeDefined();
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(0n);
    expect(await books(on, scope)).toMatchObject({ refunds: 0, refunds_payable: 0 });
    expect(await on.refunds.settleTestRefund({ id, succeed: false }, on.as(scope))).toEqual(failed);
    await expect(on.refunds.settleTestRefund({ id, succeed: true }, on.as(scope))).rejects.toMatchObject({
      code: 'refund_not_pending',
    });
  });

  it('is for test mode only', async () => {
    const scope = { ...someScope(), testMode: false };
    await expect(on.refunds.settleTestRefund({ id: 'fre_x', succeed: true }, on.as(scope))).rejects.toMatchObject({
      code: 'test_mode_required',
    });
  });
});

describe('live mode without a processor', () => {
  it('is refused before anything is written, after what is wrong with the request itself [D14.44]', async () => {
    const scope = { ...someScope(), testMode: false };
    const session = await on.paid({ ...scope, testMode: true }, { hsa: 2_000 });
    const ask = (sessionId: string, amountCents: bigint) =>
      on.refunds.refundSession({ sessionId, instruction: { amountCents } }, on.as(scope));
    const paymentIntentId = session.cards[0]?.paymentIntentId ?? '';
    await expect(ask('fcs_x', 500n)).rejects.toMatchObject({ code: 'checkout_session_not_found' });
    await expect(ask(session.id, 2_001n)).rejects.toMatchObject({ code: 'refund_amount_exceeds_remaining' });
    await expect(ask(session.id, 500n)).rejects.toMatchObject({ code: 'processor_not_configured' });
    await expect(on.refunds.createRefund({ paymentIntentId: 'fpi_x' }, on.as(scope))).rejects.toMatchObject({
      violations: [{ type: 'payment_intent_not_found' }],
    });
    await expect(on.refunds.createRefund({ paymentIntentId }, on.as(scope))).rejects.toMatchObject({
      code: 'processor_not_configured',
    });
    expect(await on.admin('select 1 from refunds.refunds where account_id = $1', [scope.accountId])).toEqual([]);
    expect(on.checkout.refundedOf(paymentIntentId)).toBe(0n);
  });
});
