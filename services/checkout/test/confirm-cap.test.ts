import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import type { InvoiceCharge } from '../src/domain/invoice-charge.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { pay, sweepRounds } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

/** The call that would charge the card is lost. Each answers what is charged; its session, if it has one, takes payments for a day. */
const lost: Readonly<Record<string, () => Promise<string>>> = {
  async 'a confirm'() {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    return session.id;
  },
  async 'a payment on the page'() {
    const cards = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(cards[0]);
    expect((await pay(fixture, session, cards)).status).toBe('open');
    return session.id;
  },
  async 'a charge of an invoice'() {
    const { id, customerId } = await fixture.card('hsa');
    const charge: InvoiceCharge = {
      ...{ operationId: newId('charge_attempt'), invoiceId: newId('invoice'), subscriptionId: newId('subscription') },
      ...{ customerId, paymentMethodId: id, amountCents: cents(2_500), leg: 'health', at: new Date() },
    };
    expect(await chargeInvoice(fixture.context, fixture.scope, charge)).toMatchObject({ outcome: 'unknown' });
    return charge.invoiceId;
  },
};

// What so much time is at the database: everything that was written down of it is as much older.
async function pass(subject: string, seconds: number): Promise<void> {
  for (const [table, column] of [
    ['charge_attempts', 'subject_id'],
    ['payment_plans', 'session_id'],
  ]) {
    await fixture.test.admin(
      `update checkout.${table} set confirm_until = confirm_until - make_interval(secs => $2), created_at = created_at - make_interval(secs => $2)
       where ${column} = $1`,
      [subject, seconds],
    );
  }
}

const attemptsOf = (subject: string) =>
  fixture.test.admin<{ status: string; processor_intent_id: string }>(
    'select status, processor_intent_id from checkout.charge_attempts where subject_id = $1 order by created_at',
    [subject],
  );

describe.each(Object.entries(lost))('%s that the processor has not received', (_what, lose) => {
  const losing = async () => {
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    return lose();
  };

  it('is charged while its claim is less than three minutes old [D14.30]', async () => {
    const subject = await losing();
    await pass(subject, 150);
    await sweepRounds(fixture, 4);
    const attempts = await attemptsOf(subject);
    expect(attempts.map(({ status }) => status)).toEqual(attempts.map(() => 'succeeded'));
  });

  it('is canceled three minutes after its claim, however long what it pays takes payments [D14.30]', async () => {
    const subject = await losing();
    await pass(subject, 180);
    await sweepRounds(fixture, 4);
    const attempts = await attemptsOf(subject);
    expect(attempts.map(({ status }) => status)).toEqual(['abandoned']);
    const intent = attempts[0]?.processor_intent_id ?? '';
    expect(await fixture.context.processors.of(fixture.scope).retrieveIntent(intent)).toMatchObject({
      kind: 'canceled',
    });
  });
});
