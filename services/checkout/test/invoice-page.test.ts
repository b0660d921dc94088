import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { adoptInvoiceCard } from '../src/actions/adopt-invoice-card.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { findAttemptOnPage, readInvoicePayment } from '../src/actions/read-invoice-payment.ts';
import { resumeInvoiceAuthentication } from '../src/actions/resume-invoice-authentication.ts';
import type { InvoiceCharge } from '../src/domain/invoice-charge.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { countChargeWork } from '../src/store/charge-work.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const adopt = (
  of: { invoiceId: string; customerId: string; slot?: 'health' | 'other'; refusesHealthCards?: boolean },
  processorPaymentMethodId: string,
) =>
  adoptInvoiceCard(fixture.context, fixture.scope, {
    ...{ slot: 'other', refusesHealthCards: false, ...of },
    processorPaymentMethodId,
  });

/** An invoice whose customer has typed a card on its page. */
async function typed(token: string): Promise<InvoiceCharge> {
  const { customerId } = await fixture.card('hsa');
  const invoiceId = newId('invoice');
  const { id } = await adopt({ invoiceId, customerId }, await fixture.confirmationToken(token));
  return {
    ...{ operationId: newId('charge_attempt'), invoiceId, subscriptionId: newId('subscription'), customerId },
    ...{ paymentMethodId: id, amountCents: cents(2_500), leg: 'other', onPage: true, at: new Date() },
  };
}
const charge = (of: InvoiceCharge) => chargeInvoice(fixture.context, fixture.scope, of);
const payment = ({ invoiceId }: InvoiceCharge) => readInvoicePayment(fixture.context, fixture.scope, invoiceId);
const resume = ({ invoiceId }: InvoiceCharge, giveUp = false) =>
  resumeInvoiceAuthentication(fixture.context, fixture.scope, invoiceId, giveUp);
async function answer({ invoiceId }: InvoiceCharge, passed: boolean): Promise<void> {
  const { processorIntentId } = (await findAttemptOnPage(fixture.database, fixture.scope, invoiceId)) ?? {};
  const bank = fixture.context.processors.of(fixture.scope).testBank;
  await bank?.authenticate(processorIntentId ?? '', passed);
}

describe('a card that was typed on the payment page of an invoice', () => {
  it('pays, belongs to the customer from then on, and can be charged without its owner [D14.231]', async () => {
    const first = await typed('tok_visa');
    expect(await charge(first)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
    expect(await findPaymentMethod(fixture.database, fixture.scope, first.paymentMethodId)).toMatchObject({
      ...{ customerId: first.customerId, offSession: true },
    });
    const renewal = { ...first, operationId: newId('charge_attempt'), invoiceId: newId('invoice'), onPage: false };
    expect(await charge(renewal)).toMatchObject({ outcome: 'succeeded' });
  });

  it('is the same payment method when it comes again, and none on the page of another invoice [D14.231]', async () => {
    const { customerId } = await fixture.card('hsa');
    const invoiceId = newId('invoice');
    const token = await fixture.confirmationToken('tok_visa');
    const { id } = await adopt({ invoiceId, customerId }, token);
    expect(await adopt({ invoiceId, customerId }, token)).toMatchObject({ id });
    await expect(adopt({ invoiceId: newId('invoice'), customerId }, token)).rejects.toMatchObject({
      violations: [{ type: 'payment_method_not_found' }],
    });
  });

  it('is refused as a health card where the account may charge none [D14.231]', async () => {
    const { customerId } = await fixture.card('hsa');
    const of = { invoiceId: newId('invoice'), customerId, slot: 'health' as const, refusesHealthCards: true };
    await expect(adopt(of, await fixture.confirmationToken('tok_hsa'))).rejects.toMatchObject({
      code: 'health_cards_not_enabled',
    });
  });

  it('waits for its bank, with the secret of that one intent, and is charged once its owner has passed [D14.232]', async () => {
    const of = await typed('tok_authenticationRequired');
    expect(await charge(of)).toMatchObject({ outcome: 'unknown' });
    expect(await payment(of)).toMatchObject({
      ...{ inFlight: true, clientSecret: expect.stringMatching(/^pi_.*_secret_/) },
      cardFields: { processor: 'sandbox' },
    });
    // What the browser says counts for nothing.
    await resume(of);
    expect(await charge(of)).toMatchObject({ outcome: 'unknown' });
    await answer(of, true);
    await resume(of);
    expect(await charge(of)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
    expect(await payment(of)).toMatchObject({ inFlight: false, clientSecret: undefined });
  });

  it.each([
    [
      'fails at its bank',
      async (of: InvoiceCharge) => answer(of, false).then(() => resume(of)),
      'payment_intent_authentication_failure',
    ],
    ['is given up', (of: InvoiceCharge) => resume(of, true), 'authentication_required'],
    [
      'waits past its time',
      async ({ operationId }: InvoiceCharge) => {
        await fixture.test.admin(
          `update checkout.charge_attempts set confirm_until = now() - interval '1 second' where operation_id = $1`,
          [operationId],
        );
      },
      'authentication_required',
    ],
  ])('takes no money if its owner %s', async (_case, end, failureCode) => {
    const of = await typed('tok_authenticationRequired');
    await charge(of);
    await end(of);
    expect(await charge(of)).toMatchObject({ outcome: 'declined', failureCode });
    await answer(of, true);
    expect(await charge(of)).toMatchObject({ outcome: 'declined', failureCode });
  });

  it('has no bank to ask at a renewal: that is declined [D14.232]', async () => {
    const of = await typed('tok_authenticationRequired');
    expect(await charge({ ...of, onPage: false })).toMatchObject({
      ...{ outcome: 'declined', failureCode: 'authentication_required' },
    });
    expect(await payment(of)).toMatchObject({ inFlight: false });
  });
});

describe('the first payment of a subscription', () => {
  /** A saved card whose bank asks for its customer, who is on the partner's page. */
  async function first(): Promise<InvoiceCharge> {
    const { onPage: _page, ...saved } = await typed('tok_authenticationRequired');
    return { ...saved, invoiceId: newId('invoice'), withCustomer: true };
  }
  const pass = async ({ operationId }: InvoiceCharge, parts: string) => {
    await fixture.test.admin(
      `update checkout.charge_attempts set ${parts}, next_check_at = now(), lease_until = now() where operation_id = $1`,
      [operationId],
    );
  };
  const isOver = "confirm_until = least(confirm_until, now() - interval '1 second')";
  const sweep = async () => {
    await sweepCharges(fixture.context);
  };
  const told = async ({ operationId }: InvoiceCharge) => {
    const rows = await fixture.test.admin<{ payload: Buffer }>(
      "select payload from checkout.outbox where type = 'command.charge.authenticated' and aggregate_id = $1",
      [operationId],
    );
    return rows.map(({ payload }) => fromBinary(EventSchema, payload).object.value);
  };

  it('waits for its customer past the time to confirm, is looked at by the sweeper, and is charged once [D14.115]', async () => {
    const of = await first();
    const waits = { outcome: 'unknown', awaitsCustomer: true };
    expect(await charge(of)).toMatchObject(waits);
    await pass(of, isOver);
    await sweep();
    expect(await charge(of)).toMatchObject(waits);
    const secret = { inFlight: true, clientSecret: expect.stringMatching(/^pi_.*_secret_/) };
    expect(await payment(of)).toMatchObject(secret);
    const { attemptsInDoubt } = await countChargeWork(fixture.database, -60);
    expect(attemptsInDoubt).toBe(0);
    expect(await told(of)).toEqual([]);
    await answer(of, true);
    await pass(of, isOver);
    await sweep();
    expect(await told(of)).toMatchObject([
      {
        ...{ operationId: of.operationId, invoiceId: of.invoiceId },
        subscriptionId: of.subscriptionId,
        outcome: 'succeeded',
      },
    ]);
    expect(await charge(of)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
    expect(await payment(of)).toMatchObject({ inFlight: false, clientSecret: undefined });
    expect(await told(of)).toHaveLength(1);
  });

  it('asks nobody of a card that needs no authentication', async () => {
    const { id, customerId } = await fixture.card('hsa');
    const of: InvoiceCharge = { ...(await first()), paymentMethodId: id, customerId, leg: 'health' };
    expect(await charge(of)).toMatchObject({ outcome: 'succeeded' });
    expect(await told(of)).toEqual([]);
  });

  it.each<[string, (of: InvoiceCharge) => Promise<unknown>, string]>([
    [
      'fails at the bank',
      (of) =>
        answer(of, false)
          .then(() => pass(of, isOver))
          .then(sweep),
      'payment_intent_authentication_failure',
    ],
    [
      'is given up after the time to confirm',
      (of) => pass(of, isOver).then(() => resume(of, true)),
      'authentication_required',
    ],
    [
      'is given up by a cancellation whose answer is lost',
      (of) =>
        pass(of, isOver)
          .then(() => fixture.fault({ call: 'payment_intents.cancel', kind: 'drop_after', times: 1 }))
          .then(() => resume(of, true)),
      'authentication_required',
    ],
    [
      'does not come within a day',
      (of) => pass(of, `${isOver}, authenticate_until = now() - interval '1 second'`).then(sweep),
      'authentication_required',
    ],
    [
      'is deleted',
      async (of) => {
        await deleteCustomer(fixture.context, fixture.scope, of.customerId);
        await pass(of, isOver);
        await sweep();
      },
      'authentication_required',
    ],
  ])(
    'takes no money if its customer %s, whatever they do later [D14.115, D14.288]',
    async (_case, end, failureCode) => {
      const of = await first();
      await charge(of);
      await end(of);
      expect(await told(of)).toMatchObject([{ outcome: 'declined', failureCode }]);
      await answer(of, true).catch(() => undefined);
      expect(await charge(of)).toMatchObject({ outcome: 'declined', failureCode });
    },
  );

  it('is not ended while the processor does not say what became of it', async () => {
    const of = await first();
    await charge(of);
    await pass(of, isOver);
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_before', times: 1 });
    await sweep();
    expect(await told(of)).toEqual([]);
    await fixture.clearFaults();
    await answer(of, true);
    expect(await charge(of)).toMatchObject({ outcome: 'succeeded' });
  });

  it.each(['authentication.asked', 'charge.processor_answered', 'charge.settled'])(
    'is charged once across a crash at %s',
    async (name) => {
      const of = await first();
      turnFailpointsOn();
      try {
        const isSettled = name === 'charge.settled';
        if (!isSettled) armFailpoint(name, { action: 'error' });
        await charge(of).catch(() => undefined);
        await pass(of, 'epoch = epoch');
        await sweep();
        await answer(of, true);
        await pass(of, 'epoch = epoch');
        if (isSettled) armFailpoint(name, { action: 'error' });
        await sweep();
      } finally {
        turnFailpointsOff();
      }
      expect(await charge(of)).toMatchObject({ outcome: 'succeeded', intent: { amountReceivedCents: 2_500 } });
      expect(await told(of)).toMatchObject([{ outcome: 'succeeded' }]);
    },
  );

  it('the table refuses a wait of more than a day, and one without its customer', async () => {
    const of = await first();
    await charge(of);
    const refused = 'charge_attempts_awaits_its_customer';
    await expect(pass(of, "authenticate_until = created_at + interval '25 hours'")).rejects.toThrow(refused);
    await expect(pass(of, 'off_session = true')).rejects.toThrow(refused);
    await resume(of, true);
  });
});

it('the table refuses a card of no page and a card of two', async () => {
  const write = (sessionId: string | null, invoiceId: string | null) =>
    fixture.test.admin(
      `insert into checkout.page_cards (account_id, test_mode, processor_payment_method_id, session_id, invoice_id, payment_method_id)
       values ('facct_x', true, 'pm_0123', $1, $2, 'fpm_x')`,
      [sessionId, invoiceId],
    );
  await expect(write(null, null)).rejects.toThrow('page_card_of_one_page');
  await expect(write('fcs_x', 'fin_x')).rejects.toThrow('page_card_of_one_page');
});
