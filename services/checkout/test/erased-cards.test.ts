import { cents, newId, systemClock } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adoptInvoiceCard } from '../src/actions/adopt-invoice-card.ts';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { eraseCustomer } from '../src/actions/erase-customer.ts';
import type { Context } from '../src/context.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
let context: Context;
beforeAll(async () => {
  fixture = await openChargingFixture();
  // The page's fields say who the card is of.
  context = fixture.contextWith((port) => ({
    async retrieveConfirmationToken(id, call) {
      const found = await port.retrieveConfirmationToken(id, call);
      return found.kind === 'found' ? { ...found, billing: { ...found.billing, name: 'Zelda' } } : found;
    },
  }));
});
afterAll(() => fixture.close());

/** A card that a shopper typed on the page of a session, and which was never charged. */
async function typedForSession(customerId: string): Promise<string> {
  const session = await fixture.mixedSession({ customerId });
  return adoptPageCard(context, fixture.scope, {
    ...{ sessionId: session.id, testClockId: null, loc: [], offSession: false },
    processorPaymentMethodId: await fixture.confirmationToken('tok_visa'),
  });
}

/** One that a customer typed on the page of an invoice, and which was declined. */
async function declinedForInvoice(customerId: string): Promise<string> {
  const invoiceId = newId('invoice');
  const { id } = await adoptInvoiceCard(context, fixture.scope, {
    ...{ invoiceId, customerId, slot: 'other', refusesHealthCards: false },
    processorPaymentMethodId: await fixture.confirmationToken('tok_chargeDeclined'),
  });
  const ids = { operationId: newId('charge_attempt'), invoiceId, subscriptionId: newId('subscription') };
  const charge = { customerId, paymentMethodId: id, amountCents: cents(2_500), leg: 'other' as const, onPage: true };
  expect(await chargeInvoice(context, fixture.scope, { ...ids, ...charge, at: new Date() })).toMatchObject({
    outcome: 'declined',
  });
  return id;
}

/** One that a customer typed there, and which the account may not charge: nothing was asked of the processor. */
async function refusedForInvoice(customerId: string): Promise<string> {
  const invoiceId = newId('invoice');
  const refused = adoptInvoiceCard(context, fixture.scope, {
    ...{ invoiceId, customerId, slot: 'health', refusesHealthCards: true },
    processorPaymentMethodId: await fixture.confirmationToken('tok_visa'),
  });
  await expect(refused).rejects.toMatchObject({ code: 'health_cards_not_enabled' });
  const [row] = await fixture.test.admin<{ id: string }>(
    'select payment_method_id as id from checkout.page_cards where invoice_id = $1',
    [invoiceId],
  );
  return row?.id ?? '';
}

const nameOn = async (id: string) => {
  const method = await findPaymentMethod(fixture.database, fixture.scope, id);
  expect(method?.customerId).toBeNull();
  return method?.billingDetails;
};

describe('the erasure of a customer', () => {
  it('erases the name on cards that were typed on their pages and never paid, and on those of nobody else [D14.143]', async () => {
    const [{ customerId }, stranger] = await Promise.all([fixture.card('hsa'), fixture.card('hsa')]);
    const [ofSession, ofInvoice, refused, ofStranger] = [
      await typedForSession(customerId),
      await declinedForInvoice(customerId),
      await refusedForInvoice(customerId),
      await typedForSession(stranger.customerId),
    ];
    for (const id of [ofSession, ofInvoice, refused, ofStranger]) expect(await nameOn(id)).toEqual({ name: 'Zelda' });
    // As the operator's command has it: row-level security does not bind it.
    const database = fixture.test.open('checkout', { url: fixture.test.adminUrl });
    const work = { database, clock: systemClock, eraseElsewhere: async () => undefined };
    await eraseCustomer(work, fixture.scope, { customerId, requestedBy: 'Request 1' });
    expect([await nameOn(ofSession), await nameOn(ofInvoice), await nameOn(refused)]).toEqual([{}, {}, {}]);
    expect(await nameOn(ofStranger)).toEqual({ name: 'Zelda' });
  });
});
