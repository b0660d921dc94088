import { withTx } from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { changePromoCode } from '../src/actions/change-promo-code.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { cancelSession, expireIfDue } from '../src/actions/end-session.ts';
import { importIssuerRanges } from '../src/actions/import-issuer-ranges.ts';
import { cardUpdated, refreshCard } from '../src/actions/refresh-card.ts';
import { updateSession } from '../src/actions/update-session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { accountsWithPayments } from '../src/store/accounts-with-payments.ts';
import * as authentications from '../src/store/authentications.ts';
import { deleteCatalogTask, insertCatalogTask, postponeCatalogTask } from '../src/store/catalog-tasks.ts';
import { readCreationFacts } from '../src/store/creation-facts.ts';
import {
  findCustomer,
  findCustomers,
  findProcessorCustomer,
  lockCustomer,
  noteProcessorCustomer,
  saveCustomer,
} from '../src/store/customers.ts';
import { findIssuerRange } from '../src/store/issuer-ranges.ts';
import { changePaymentLink, findPaymentLink, insertPaymentLink } from '../src/store/payment-links.ts';
import * as paymentMethods from '../src/store/payment-methods.ts';
import { hasDiscount } from '../src/store/repricings.ts';
import { fillProcessorAccount, nextWithoutProcessor } from '../src/store/rows-without-processor.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { loadSession } from '../src/store/sessions.ts';
import { actingTime, findTestClock, mirrorTestClock, settleClock } from '../src/store/test-clocks.ts';
import { noteCancellation, noteSetUpFailure } from '../src/store/timeline-causes.ts';
import { saveCardFacts } from '../src/store/updated-cards.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { sessionMessage } from './fixture.ts';

const firstCustomer = seededId('fcus', 1);
const atSandbox = { processor: 'sandbox', account: 'acct_growth' } as const;

/** Runs the statements of customers, payment methods, links and sessions that are made, changed and read by themselves. */
export async function exerciseRecords(fixture: ChargingFixture): Promise<void> {
  const { database, scope, context, call, clock } = fixture;
  const make = (parts: object) => createSession(context, call, sessionRequestOf(sessionMessage(parts)));
  const nobody = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
  const key = { key: 'k', requestHash: new Uint8Array(32) };
  const { customerId } = await createCustomer(context, scope, { ...nobody, metadata: {}, testClockId: null }, key);
  const made = await make({
    customerId,
    sellingPlans: [{ id: 'plan' }],
    fees: [{ amountCents: 1n }],
    discounts: [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }],
    idempotency: key,
  });
  await loadSession(database, scope, made.id);
  const plain = [{}, { fees: [{ amountCents: 1n }] }, { mode: 'setup', lines: [], customerId }];
  for (const [at, parts] of plain.entries()) await make({ ...parts, idempotency: { ...key, key: `plain ${at}` } });
  fixture.catalog.addCode('GROWTH', { amountOffCents: 1n });
  const priced = await make({ customerId, allowPromotionCodes: true });
  await changePromoCode(context, call, priced.id, 'GROWTH');
  await changePromoCode(context, call, priced.id, undefined);
  await hasDiscount(database, scope, seededId('fdi', 1));
  for (const id of [made.id, seededId('fcs', 1)]) await readSessionTimeline(database, scope, id);
  await loadSessionLines(database, scope, made.id);
  await readCreationFacts(database, scope, [
    { customerId: seededId('fcus', 10), paymentMethodId: seededId('fpm', 1), key: 'key 1' },
  ]);
  await updateSession(context, scope, made.id, { metadata: { a: 'b' } });
  await expireIfDue(context, scope, made.id);
  await cancelSession(context, scope, made.id);
  await actingTime(database, scope, clock, seededId('fcus', 10));
  await findTestClock(database, scope, seededId('fclk', 10));
  await findCustomer(database, scope, firstCustomer);
  await findProcessorCustomer(database, scope, firstCustomer);
  await nextWithoutProcessor(database, { accountId: '', testMode: false });
  await accountsWithPayments(database, { accountId: '', testMode: false }, 10);
  await findCustomers(database, scope, [firstCustomer, customerId]);
  const method = await paymentMethods.findPaymentMethod(database, scope, seededId('fpm', 1));
  if (method === undefined) throw new Error('the payment method is gone');
  await withTx(database, scope, (tx) => saveCardFacts(tx, scope, method, method.card));
  const updated = { processor: 'sandbox', eventId: 'evt_card', type: cardUpdated, objectId: 'pm_of_nobody' };
  await refreshCard(context, scope, { ...updated, createdAt: new Date() });
  await findIssuerRange(database, scope, '400006');
  await importIssuerRanges(database, 'first,last,hsa_fsa\n400006,,true');
  await paymentMethods.findPaymentMethods(database, scope, [seededId('fpm', 1), seededId('fpm', 2)]);
  const link = await findPaymentLink(database, scope, seededId('fplink', 1));
  if (link === undefined) throw new Error('the payment link is gone');
  await withTx(database, scope, async (tx) => {
    await insertPaymentLink(tx, scope, { ...link, id: newId('payment_link') });
    await changePaymentLink(tx, scope, link.id, { active: false, metadata: null });
    await insertCatalogTask(tx, scope, made.id, 'activate');
    await postponeCatalogTask(tx, { scope, sessionId: made.id, kind: 'activate' });
    await deleteCatalogTask(tx, scope, made.id, 'activate');
    const customer = await lockCustomer(tx, scope, firstCustomer);
    if (customer === undefined) throw new Error('the customer is gone');
    await saveCustomer(tx, scope, customer, customer);
    await noteProcessorCustomer(tx, scope, firstCustomer, 'cus_x', atSandbox);
    await fillProcessorAccount(tx, scope, atSandbox, 100);
    await mirrorTestClock(tx, scope, 'fclk_x', clock.now(), null);
    await settleClock(tx, scope, 'fclk_x', clock.now());
    await paymentMethods.lockPaymentMethod(tx, scope, seededId('fpm', 1));
    const method = { ...methodOf(firstCustomer), version: 1n };
    await paymentMethods.insertPaymentMethod(tx, scope, method);
    await paymentMethods.saveCardKind(
      tx,
      scope,
      { ...method, id: seededId('fpm', 2) },
      { hsaFsa: true, hsaFsaSource: 'partner' },
    );
    await paymentMethods.noteShopperKinds(tx, scope, new Map([[seededId('fpm', 3), false]]));
    const sessionId = seededId('fcs', 3);
    await authentications.noteAuthentication(tx, scope, { sessionId, attemptId: seededId('fatt', 3), at: new Date() });
    await authentications.findPendingAuthentication(tx, scope, sessionId);
    await noteCancellation(tx, scope, sessionId, 'partner');
    const failure = { setupIntentId: seededId('fseti', 3), code: 'card_declined', at: new Date() };
    await noteSetUpFailure(tx, scope, sessionId, failure);
    const confirmed = { token: 'ctoken_growth', processorPaymentMethodId: 'pm_growth', customerId: null };
    await paymentMethods.recordConfirmedMethod(tx, scope, { paymentMethodId: seededId('fpm', 3), ...confirmed });
    const agreement = { mandateId: 'mandate_1', networkTransactionId: undefined };
    await paymentMethods.recordAgreement(tx, scope, seededId('fpm', 4), agreement);
    await paymentMethods.savePaymentMethodOwner(tx, scope, method, {
      customerId: null,
      processorCustomerId: null,
      detachedAt: clock.now(),
    });
  });
}

function methodOf(customerId: string) {
  return {
    id: 'fpm_y',
    customerId,
    processorAccount: atSandbox,
    processorPaymentMethodId: 'pm_y',
    processorCustomerId: 'cus_x',
    offSession: true,
    card: {
      ...{ brand: 'visa', country: 'US', expMonth: 1, expYear: 2030, funding: 'debit', last4: '0072' },
      ...({ hsaFsa: true, hsaFsaSource: 'processor' } as const),
    },
    billingDetails: {},
    metadata: {},
    createdAt: new Date(),
    detachedAt: null,
  };
}
