import { type Scope, withTx } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openChargeGroups } from '../src/actions/charge-groups.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import type { InvoiceCharge } from '../src/domain/invoice-charge.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { moveRefunded } from '../src/store/payment-intents.ts';
import { takePaymentLocks } from '../src/store/payment-locks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { meetAt, oneByOne } from './one-by-one.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
});

async function newCharge(card = 'hsa'): Promise<InvoiceCharge> {
  const { id, customerId } = await fixture.card(card);
  return {
    operationId: newId('charge_attempt'),
    invoiceId: newId('invoice'),
    subscriptionId: newId('subscription'),
    ...{ customerId, paymentMethodId: id, amountCents: cents(2_500), leg: 'health', at: new Date() },
  };
}
const ask = (charge: InvoiceCharge) => chargeInvoice(fixture.context, fixture.scope, charge);
const attemptOf = async ({ operationId }: InvoiceCharge) => {
  const [attempt] = await fixture.test.admin<{ status: string; sends: number }>(
    'select status, sends from checkout.charge_attempts where id = $1',
    [operationId],
  );
  return attempt;
};

const unknown = { outcome: 'unknown', intent: undefined, failureCode: null, declineCode: null };
const attemptsUnder = ({ operationId }: InvoiceCharge) =>
  fixture.test.admin<{ status: string; code: string | null; payment_intent_id: string }>(
    `select status, failure_code as code, payment_intent_id from checkout.charge_attempts where operation_id = $1
     order by created_at`,
    [operationId],
  );
const comeTooLate = ({ operationId }: InvoiceCharge) =>
  fixture.test.admin(
    `update checkout.charge_attempts set confirm_until = least(confirm_until, now() - interval '1 second')
     where operation_id = $1`,
    [operationId],
  );

describe('charges of invoices that come together', () => {
  const statesOf = async (charges: readonly InvoiceCharge[]) =>
    fixture.test.admin<{ attempt: string; intent: string; charges: string; entries: string; events: string[] }>(
      `select a.status as attempt, i.status as intent,
         (select count(*) from checkout.charges c where c.account_id = a.account_id and c.payment_intent_id = i.id and c.id = i.latest_charge_id) as charges,
         (select count(*) from checkout.ledger_entries e where e.account_id = a.account_id and e.payment_intent_id = i.id
            and e.kind = 'capture' and e.amount_cents = i.amount_received_cents) as entries,
         (select array_agg(o.type order by o.event_id) from checkout.outbox o where o.aggregate_id in (i.id, i.latest_charge_id)) as events
       from checkout.charge_attempts a
       join checkout.payment_intents i on i.account_id = a.account_id and i.test_mode = a.test_mode and i.id = a.payment_intent_id
       where a.operation_id = any($1)`,
      [charges.map(({ operationId }) => operationId)],
    );
  const paid = {
    ...{ attempt: 'succeeded', intent: 'succeeded', charges: '1', entries: '1' },
    events: ['payment_intent.created', 'charge.succeeded', 'payment_intent.succeeded'],
  };
  const newCharges = (count: number) => Promise.all(Array.from({ length: count }, () => newCharge()));

  it('share their statements, and each is charged once with all its records', async () => {
    const charges = await newCharges(12);
    const sent: string[] = [];
    const database = fixture.test.open('checkout', { max: 8, onStatement: (name) => sent.push(name) });
    const { context, scope } = fixture;
    const { budgets, clock } = context;
    const failpoint = meetAt(['charge.intent_created', 'charge.before_settle'], charges.length);
    const groups = openChargeGroups({ database, clock, failpoint, budgets });
    const together = { ...context, database, failpoint, groups };
    const results = await Promise.all(charges.map((charge) => chargeInvoice(together, scope, charge)));
    expect(results.map(({ outcome }) => outcome)).toEqual(charges.map(() => 'succeeded'));
    expect(await statesOf(charges)).toEqual(charges.map(() => paid));
    const countOf = (name: string) => sent.filter((one) => one.startsWith(`${name}:`)).length;
    expect(countOf('checkout.charge_attempt_insert')).toBe(1);
    expect(sent.length).toBeLessThan(charges.length);
    for (const [index, charge] of charges.entries()) {
      expect((await ask(charge)).intent).toEqual(results[index]?.intent);
    }
  });

  it.each([
    ['pass the fence', 'charge.intent_created', 'checkout.charge_attempts_fence'],
    ['are settled', 'charge.processor_answered', 'checkout.settle_invoice_charges'],
  ])('%s together though the processor answers one after the other', async (_what, at, statement) => {
    const charges = await newCharges(4);
    const sent: string[] = [];
    const database = fixture.test.open('checkout', { max: 8, onStatement: (name) => sent.push(name) });
    const { context, scope } = fixture;
    const { budgets, clock } = context;
    const { failpoint, mostGroups } = oneByOne(at, charges.length);
    const groups = openChargeGroups({ database, clock, failpoint, budgets });
    const results = await Promise.all(
      charges.map((charge) => chargeInvoice({ ...context, database, failpoint, groups }, scope, charge)),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(charges.map(() => 'succeeded'));
    const count = sent.filter((one) => one.startsWith(`${statement}:`)).length;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(await mostGroups());
  });

  it('are begun and settled though one of them is declined, was begun before, or has no card', async () => {
    const plain = await newCharges(4);
    const before = await newCharge();
    await ask(before);
    const declined = await newCharge('insufficient_funds');
    const withoutCard = { ...(await newCharge()), paymentMethodId: newId('payment_method') };
    const results = await Promise.allSettled([...plain, before, declined, withoutCard].map(ask));
    const outcomes = results.map((one) => (one.status === 'fulfilled' ? one.value.outcome : one.reason.code));
    expect(outcomes).toEqual([...plain.map(() => 'succeeded'), 'succeeded', 'declined', 'payment_method_not_found']);
    expect(await statesOf([...plain, before])).toEqual([...plain, before].map(() => paid));
  });

  it('are each charged once though the transaction that settles them is rolled back', async () => {
    const charges = await newCharges(5);
    turnFailpointsOn();
    armFailpoint('charge.before_settle_commit', { action: 'error' });
    const results = await Promise.all(charges.map(ask));
    expect(results.map(({ outcome }) => outcome)).toEqual(charges.map(() => 'succeeded'));
    expect(await statesOf(charges)).toEqual(charges.map(() => paid));
  });
});

describe("billing's operation", () => {
  it.each(['payment_intents.create', 'payment_intents.confirm'])(
    'says for how long the processor turns it away at %s, and is charged once after that [D14.190]',
    async (call) => {
      const charge = await newCharge();
      await fixture.fault({ call, kind: 'rate_limited', delay_ms: 7_000, times: 2 });
      for (const _ of [1, 2]) expect(await ask(charge)).toEqual({ ...unknown, retryAfterMs: 7_000 });
      expect(await ask(charge)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
      expect(await attemptsUnder(charge)).toHaveLength(1);
    },
  );

  it('waits without a check while no processor is configured, and is then charged once [D14.105, D14.190]', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    expect(await ask(charge)).toEqual(unknown);
    const checks = () =>
      fixture.test.admin('select checks, sends from checkout.charge_attempts where id = $1', [charge.operationId]);
    const before = await checks();
    const none = { ...fixture.context, processors: openProcessors({}) };
    expect(await chargeInvoice(none, fixture.scope, charge)).toEqual(unknown);
    expect(await checks()).toEqual(before);
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
  });

  it.each(['hsa', 'undescribed'])(
    'charges the other leg to no card that is or may be a health card (%s): refused before an attempt is made [D14.70]',
    async (card) => {
      const charge = { ...(await newCharge(card)), leg: 'other' as const };
      await expect(ask(charge)).rejects.toMatchObject({ code: 'payment_method_not_found' });
      expect(await attemptsUnder(charge)).toEqual([]);
    },
  );

  it.each([
    ['amount', { amountCents: cents(2_501) }],
    ['invoice', { invoiceId: newId('invoice') }],
    ['leg', { leg: 'other' as const }],
  ])(
    'stands for one charge: the same id with another %s is refused, whatever became of the first [D14.32]',
    async (_, other) => {
      const charge = await newCharge();
      await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
      expect((await ask(charge)).outcome).toBe('unknown');
      for (const outcome of ['succeeded', 'succeeded']) {
        await expect(ask({ ...charge, ...other })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
        expect(await ask(charge)).toMatchObject({ outcome, intent: { amountReceivedCents: 2_500 } });
      }
      expect(await attemptOf(charge)).toEqual({ status: 'succeeded', sends: 2 });
    },
  );

  it('is charged once beside the shopper’s own payments with the same card, and neither waits for the other [D14.293]', async () => {
    const charge = await newCharge();
    const card = { ...(await fixture.card('hsa')), id: charge.paymentMethodId, customerId: charge.customerId };
    const session = await fixture.mixedSession(card);
    // Another payment of the customer holds the locks: a confirm would wait for it.
    await withTx(fixture.database, fixture.scope, (tx) =>
      takePaymentLocks(tx, fixture.scope, {
        ...{ attemptId: newId('charge_attempt'), leaseMs: 60_000 },
        ...{ customerId: charge.customerId, paymentMethodId: charge.paymentMethodId },
      }),
    );
    expect((await ask(charge)).outcome).toBe('succeeded');
    await fixture.test.admin('delete from checkout.payment_locks where id = any($1)', [
      [charge.customerId, charge.paymentMethodId],
    ]);
    const second = { ...charge, operationId: newId('charge_attempt'), invoiceId: newId('invoice') };
    const [confirmed, charged] = await Promise.all([fixture.confirm(session, card), ask(second)]);
    expect([confirmed.session?.status, charged.outcome]).toEqual(['complete', 'succeeded']);
    const taken = await fixture.test.admin<{ count: string }>(
      `select count(*) from checkout.charge_attempts where payment_method_id = $1 and status = 'succeeded'`,
      [charge.paymentMethodId],
    );
    expect(taken).toEqual([{ count: '3' }]);
  });

  it('is refused an amount that no card can be charged, and no attempt is made', async () => {
    const charge = await newCharge();
    await expect(ask({ ...charge, amountCents: cents(49) })).rejects.toMatchObject({ code: 'checkout_amount_too_low' });
    await expect(ask({ ...charge, amountCents: cents(100_000_000) })).rejects.toMatchObject({
      violations: [{ type: 'amount_too_large', msg: 'Must be at most 99999999' }],
    });
    expect(await attemptOf(charge)).toBeUndefined();
  });

  it('is never abandoned by the sweeper, and resumes whenever billing asks again [D14.32]', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
    expect((await ask(charge)).outcome).toBe('unknown');
    for (let round = 0; round < 2; round++) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
    expect(await attemptOf(charge)).toEqual({ status: 'created', sends: 0 });
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
  });

  it('that was never sent makes way for another one, and is then no decline: nothing will be charged under it', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
    await ask(charge);
    expect(await ask({ ...charge, operationId: newId('charge_attempt') })).toMatchObject({ outcome: 'succeeded' });
    expect(await ask(charge)).toMatchObject({ outcome: 'abandoned', failureCode: null, declineCode: null });
    expect(await attemptOf(charge)).toEqual({ status: 'abandoned', sends: 0 });
  });

  it('that may have been sent blocks another one for the invoice', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await ask(charge);
    expect(await ask({ ...charge, operationId: newId('charge_attempt') })).toMatchObject({ outcome: 'unknown' });
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
  });

  it('of an invoice that is paid already is answered with that payment, and charges nothing [D14.32]', async () => {
    const charge = await newCharge();
    const paid = await ask(charge);
    const again = { ...charge, operationId: newId('charge_attempt') };
    expect(paid).toMatchObject({ outcome: 'succeeded' });
    expect(await ask(again)).toMatchObject({ outcome: 'succeeded', intent: { id: paid.intent?.id } });
    expect(await attemptsUnder(again)).toEqual([]);
  });

  it('of a part that was paid and does not stand is declined for good: billing neither asks forever nor charges it twice [D14.287]', async () => {
    const charge = await newCharge();
    const { intent } = await ask(charge);
    const again = { ...charge, operationId: newId('charge_attempt') };
    const declined = (failureCode: string) => ({ outcome: 'declined', failureCode, intent: undefined });
    const dispute = (amount: number) =>
      fixture.test.admin('update checkout.payment_intents set amount_disputed_cents = $2 where id = $1', [
        intent?.id,
        amount,
      ]);
    expect(await ask({ ...again, amountCents: cents(charge.amountCents + 1) })).toEqual(
      expect.objectContaining(declined('charged_another_amount')),
    );
    await dispute(1);
    expect(await ask(again)).toMatchObject(declined('charge_disputed'));
    // The shop won: the money stands.
    await dispute(0);
    expect(await ask(again)).toMatchObject({ outcome: 'succeeded', intent: { id: intent?.id } });
    await withTx(fixture.database, fixture.scope, (tx) => moveRefunded(tx, fixture.scope, intent?.id ?? '', cents(1)));
    expect(await ask(again)).toMatchObject(declined('charge_refunded'));
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
    expect(await attemptsUnder(again)).toEqual([]);
  });

  it('that is resumed has no other charge wait for its settlement, which it makes alone', async () => {
    const charge = await newCharge();
    const { groups } = fixture.context;
    const expected: string[] = [];
    const expect_ = (scope: Scope, id: string) => {
      expected.push(id);
      groups.invoiceSettlements.expect(scope, id);
    };
    const context = {
      ...fixture.context,
      groups: { ...groups, invoiceSettlements: { ...groups.invoiceSettlements, expect: expect_ } },
    };
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    expect(await chargeInvoice(context, fixture.scope, charge)).toMatchObject({ outcome: 'unknown' });
    expect(expected).toEqual([charge.operationId]);
    expect(await chargeInvoice(context, fixture.scope, charge)).toMatchObject({ outcome: 'succeeded' });
    expect(expected).toEqual([charge.operationId]);
  });

  it('is charged again under the same id when its charge was not sent in time: an outage is not a decline [D14.32]', async () => {
    for (const call of ['payment_intents.create', 'payment_intents.confirm']) {
      const charge = await newCharge();
      await fixture.fault({ call, kind: 'drop_before', times: 1 });
      expect(await ask(charge)).toEqual(unknown);
      const hours = fixture.contextWith(() => ({ isDown: () => true }));
      for (let round = 0; round < 3; round++) {
        await comeTooLate(charge);
        await fixture.lapseLeases();
        await sweepCharges(hours);
        expect(await chargeInvoice(hours, fixture.scope, charge)).toMatchObject(unknown);
      }
      await comeTooLate(charge);
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
      expect(await ask(charge)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
      expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
      const attempts = await attemptsUnder(charge);
      expect(attempts.at(-1)).toMatchObject({ status: 'succeeded' });
      expect(
        attempts.slice(0, -1).every(({ status, code }) => status === 'abandoned' && code === 'canceled_late'),
      ).toBe(true);
      expect(new Set(attempts.map(({ payment_intent_id }) => payment_intent_id)).size).toBe(attempts.length);
    }
  });

  it('cancels by itself what came too late when it is asked again, and then charges', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await ask(charge);
    await comeTooLate(charge);
    expect(await ask(charge)).toEqual(unknown);
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
    expect(await attemptsUnder(charge)).toMatchObject([{ status: 'abandoned' }, { status: 'succeeded' }]);
  });

  it('is settled when it was charged in time and that is found out later', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await ask(charge);
    await comeTooLate(charge);
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
    expect(await attemptsUnder(charge)).toHaveLength(1);
  });

  it('that was canceled as too late leaves the invoice to another operation, and does not start again', async () => {
    const charge = await newCharge();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await ask(charge);
    await comeTooLate(charge);
    await ask(charge);
    expect(await ask({ ...charge, operationId: newId('charge_attempt') })).toMatchObject({ outcome: 'succeeded' });
    expect(await ask(charge)).toMatchObject({ outcome: 'abandoned' });
    expect(await attemptsUnder(charge)).toMatchObject([{ status: 'abandoned' }]);
  });

  it('is declined when its card says no', async () => {
    const charge = await newCharge('declined');
    for (const _ of [1, 2])
      expect(await ask(charge)).toMatchObject({ outcome: 'declined', failureCode: 'card_declined' });
  });

  it('resumes at once after a failure of Eligo', async () => {
    const charge = await newCharge();
    turnFailpointsOn();
    armFailpoint('charge.before_settle', { action: 'error' });
    await expect(ask(charge)).rejects.toThrow();
    turnFailpointsOff();
    expect(await ask(charge)).toMatchObject({ outcome: 'succeeded' });
    expect(await attemptOf(charge)).toEqual({ status: 'succeeded', sends: 2 });
  });
});
