import {
  claimKey,
  findKey,
  finishKeyOfAttempt,
  type KeyUse,
  linkAttempt,
  maxGroupSize,
  pruneKeys,
  releaseKeyOfAttempt,
  type Scope,
  type Tx,
  unlinkAttempt,
  withTx,
} from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { acceptProcessorEvent } from '../src/actions/accept-processor-event.ts';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { changePromoCode } from '../src/actions/change-promo-code.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { cancelSession, expireIfDue } from '../src/actions/end-session.ts';
import { importIssuerRanges } from '../src/actions/import-issuer-ranges.ts';
import { readPage } from '../src/actions/read-page.ts';
import { recordDispute } from '../src/actions/record-dispute.ts';
import { recordHealthCardStatement } from '../src/actions/record-health-card-statement.ts';
import { cardUpdated, refreshCard } from '../src/actions/refresh-card.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { updateSession } from '../src/actions/update-session.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { accountsWithPayments } from '../src/store/accounts-with-payments.ts';
import * as authentications from '../src/store/authentications.ts';
import { adoptOperation, loadCaptureLines } from '../src/store/captures.ts';
import {
  deleteCatalogTask,
  dueCatalogTasks,
  insertCatalogTask,
  nextCatalogTaskInMs,
  postponeCatalogTask,
} from '../src/store/catalog-tasks.ts';
import { abandonAttempt, claimAttempt, postponeAttempt } from '../src/store/charge-attempts.ts';
import { countChargeWork, dueChargeWork, nextChargeWorkInMs } from '../src/store/charge-work.ts';
import { listCharges } from '../src/store/charges.ts';
import { readCreationFacts } from '../src/store/creation-facts.ts';
import {
  findCustomer,
  findCustomers,
  listCustomers,
  lockCustomer,
  noteProcessorCustomer,
  saveCustomer,
} from '../src/store/customers.ts';
import { findChargeAtProcessor } from '../src/store/disputes.ts';
import { dueSessions, dueSessionsOnClocks, nextDueSession } from '../src/store/due-sessions.ts';
import { findStatement } from '../src/store/health-card-statements.ts';
import {
  claimOperation,
  claimOperationOfCapture,
  claimOperationOfIntent,
  findDecision,
} from '../src/store/intent-operations.ts';
import { findIssuerRange } from '../src/store/issuer-ranges.ts';
import { abandonLateAttempt, endConfirmTime } from '../src/store/late-attempts.ts';
import { findIntent, findIntents, listIntents, unbillIntents } from '../src/store/payment-intents.ts';
import { changePaymentLink, findPaymentLink, insertPaymentLink, listPaymentLinks } from '../src/store/payment-links.ts';
import { arePaymentLocksHeld } from '../src/store/payment-locks.ts';
import * as paymentMethods from '../src/store/payment-methods.ts';
import { claimPlan, endHeldPlan, releaseRunningPlan } from '../src/store/payment-plans.ts';
import { pruneProcessorEvents } from '../src/store/processor-events.ts';
import {
  loadPaidCards,
  loadRefundableLines,
  loadRefundStandings,
  lockPaidCard,
  lockRefundedSessions,
} from '../src/store/refund-facts.ts';
import { closeRefundId } from '../src/store/refund-reservations.ts';
import { advanceRenewalNote } from '../src/store/renewal-notes.ts';
import { hasDiscount } from '../src/store/repricings.ts';
import { fillProcessorAccount, nextWithoutProcessor } from '../src/store/rows-without-processor.ts';
import { pruneSessionKeys } from '../src/store/session-keys.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findBackupOf, findSetupIntent, listSetupIntents, takeNextTry } from '../src/store/setup-intents.ts';
import { actingTime, findTestClock, mirrorTestClock, settleClock, settledClocks } from '../src/store/test-clocks.ts';
import { saveCardFacts } from '../src/store/updated-cards.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { sessionMessage } from './fixture.ts';
import { exerciseCaptures } from './growth-captures.ts';
import { keyHash } from './growth-seed.ts';
import { pay } from './pay.ts';

/** Runs every statement of checkout, for new records and for seeded ones, of which the first customer has a fifth. */
export async function exerciseCheckout(fixture: ChargingFixture): Promise<void> {
  await runStore(fixture);
  await runLists(fixture);
  await payAndRefund(fixture);
  await payWithTrouble(fixture);
  await exerciseCaptures(fixture);
  await runRare(fixture);
  await runJobs(fixture);
}

const firstCustomer = seededId('fcus', 1);
const atSandbox = { processor: 'sandbox', account: 'acct_growth' } as const;

async function runStore(fixture: ChargingFixture): Promise<void> {
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
  await nextWithoutProcessor(database, { accountId: '', testMode: false });
  await accountsWithPayments(database, { accountId: '', testMode: false }, 10);
  await findCustomers(database, scope, [firstCustomer, customerId]);
  const method = await paymentMethods.findPaymentMethod(database, scope, seededId('fpm', 1));
  if (method === undefined) throw new Error('the payment method is gone');
  await withTx(database, scope, (tx) => saveCardFacts(tx, scope, method, method.card));
  const updated = { processor: 'sandbox', eventId: 'evt_card', type: cardUpdated, objectId: 'pm_of_nobody' };
  await refreshCard(context, scope, { ...updated, createdAt: new Date() });
  await findIssuerRange(database, '400006');
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
    const confirmed = { token: 'ctoken_growth', processorPaymentMethodId: 'pm_growth', customerId: null };
    await paymentMethods.recordConfirmedMethod(tx, scope, { paymentMethodId: seededId('fpm', 3), ...confirmed });
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

// Each filter of each list, from both ends and from the middle.
async function runLists({ database, scope }: ChargingFixture): Promise<void> {
  for (const middle of [{}, { startingAfter: 100 }, { endingBefore: 100 }] as const) {
    const page = (prefix: string) => ({
      limit: 10,
      ...Object.fromEntries(Object.entries(middle).map(([side, number]) => [side, seededId(prefix, number)])),
    });
    await listCustomers(database, scope, page('fcus'), undefined);
    await listCustomers(database, scope, page('fcus'), 'c100@example.com');
    for (const active of [undefined, true, false]) await listPaymentLinks(database, scope, page('fplink'), active);
    for (const customerId of [undefined, firstCustomer]) {
      await listSetupIntents(database, scope, page('fseti'), customerId);
      await listIntents(database, scope, page('fpi'), { customerId });
    }
    await paymentMethods.listPaymentMethods(database, scope, page('fpm'), firstCustomer);
    await listIntents(database, scope, page('fpi'), { sessionId: seededId('fcs', 1) });
    await listCharges(database, scope, page('fch'), undefined);
    await listCharges(database, scope, page('fch'), seededId('fpi', 1));
    for (const filter of filters) {
      for await (const one of streamSessions(database, scope, page('fcs'), filter)) void one;
    }
  }
  for await (const one of streamSessions(database, scope, { limit: 500 }, {})) void one;
}

const filters: SessionFilter[] = [
  {},
  { status: 'open' },
  { status: 'canceled', mode: 'payment' },
  { mode: 'payment' },
  { customerId: firstCustomer },
  { customerId: firstCustomer, status: 'open' },
  { customerEmail: 'c1@example.com' },
  { subscriptionId: seededId('fsub', 1) },
  { clientReferenceId: 'ref' },
  { paymentIntentId: seededId('fpi', 1) },
  { sellingPlan: 'plan' },
  { disputed: true },
  { disputed: false },
  { createdAtOrAfter: new Date(0), createdBefore: new Date() },
];

async function payAndRefund(fixture: ChargingFixture): Promise<void> {
  const { context, scope } = fixture;
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(hsa);
  await pay(fixture, session, [hsa, credit]);
  await releaseRefund(context, scope, await refund(fixture, session), []);
  const live = { ...scope, testMode: false };
  await recordHealthCardStatement(context, live, { substantiation: 'iias', version: 1n });
  await findStatement(context.database, live);
  await chargeInvoice(context, scope, {
    operationId: newId('charge_attempt'),
    invoiceId: newId('invoice'),
    subscriptionId: null,
    ...{ customerId: hsa.customerId, paymentMethodId: hsa.id, amountCents: cents(900), leg: 'health', at: new Date() },
  });
}

async function refund({ context, scope }: ChargingFixture, { id: sessionId }: Session): Promise<string> {
  const refundId = newId('refund');
  await reserveRefund(context, scope, {
    ...{ refundId, sessionId, paymentIntentId: null, features: [], preview: false },
    instruction: { entries: [], methods: [] },
  });
  return refundId;
}

// Lost answers, declines, given-up attempts, holds that are let go and one that is gone.
async function payWithTrouble(fixture: ChargingFixture): Promise<void> {
  const [hsa, credit, declined] = await Promise.all([
    fixture.card('hsa'),
    fixture.card('credit'),
    fixture.card('declined'),
  ]);
  await pay(fixture, await fixture.mixedSession(hsa), [hsa, declined]);
  const waiting = await fixture.mixedSession(hsa);
  await pay(fixture, waiting, [hsa]);
  await cancelSession(fixture.context, fixture.scope, waiting.id);
  const lost = await fixture.mixedSession(hsa);
  await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
  await pay(fixture, lost, [hsa, credit]);
  await fixture.cancelAtProcessor(lost, 'health');
  // The first goes alone, and the others meanwhile together.
  const ready = await Promise.all(Array.from({ length: 4 }, () => fixture.card('hsa')));
  const sessions = await Promise.all(ready.map((card) => fixture.mixedSession(card)));
  await Promise.all(ready.map((card, index) => fixture.confirm(sessions[index] as Session, card)));
  await Promise.all(sessions.map((session) => refund(fixture, session)));
  for (const call of ['payment_intents.create', 'payment_intents.confirm']) {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call, kind: 'drop_after', times: 1 });
    await fixture.confirm(session, card).catch(() => undefined);
  }
}

// What a full group of refunds reads.
async function readRefundFacts(tx: Tx, scope: Scope): Promise<void> {
  const numbers = Array.from({ length: maxGroupSize }, (_, index) => index + 1);
  const sessionIds = numbers.map((number) => seededId('fcs', number));
  const refunds = numbers.map((number) => ({ refundId: seededId('fre', number), subjectId: seededId('fcs', number) }));
  await lockRefundedSessions(tx, scope, sessionIds);
  await loadRefundStandings(tx, scope, 'session', refunds);
  await loadPaidCards(tx, scope, sessionIds);
  await loadRefundableLines(tx, scope, sessionIds);
}

// What only crashes, lost answers and repeats lead to.
async function runRare(fixture: ChargingFixture): Promise<void> {
  const { database, scope } = fixture;
  const leaseMs = 1_000;
  const use: KeyUse = { endpoint: 'confirm', key: 'key 20', requestHash: keyHash, otherRequest: 'refuse' };
  await findIntent(database, scope, seededId('fpi', 1));
  await findIntents(database, scope, [seededId('fpi', 1), seededId('fpi', 2)]);
  await findSetupIntent(database, scope, seededId('fseti', 1));
  await findBackupOf(database, scope, seededId('fseti', 1));
  await findKey(database, scope, use);
  const card = await fixture.card('hsa');
  const setUp = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
  await pay(fixture, setUp, [card]);
  await readPage(fixture.context, scope, seededId('fcs', 5));
  await adoptTypedCard(fixture, (await fixture.mixedSession(card)).id);
  await arePaymentLocksHeld(database, scope, { customerId: seededId('fcus', 1), paymentMethodId: seededId('fpm', 1) });
  await withTx(database, scope, async (tx) => {
    await lockPaidCard(tx, scope, seededId('fpi', 1));
    await readRefundFacts(tx, scope);
    await closeRefundId(tx, scope, seededId('fre', 1));
    await linkAttempt(tx, scope, use, seededId('fatt', 1));
    await claimAttempt(tx, scope, seededId('fatt', 21), leaseMs);
    await postponeAttempt(tx, scope, { id: seededId('fatt', 21), epoch: 2 }, 1_000);
    await abandonAttempt(tx, scope, seededId('fatt', 22), null);
    await endConfirmTime(tx, scope, { id: seededId('fatt', 21), epoch: 2 });
    await abandonLateAttempt(tx, scope, seededId('fatt', 41));
    await claimOperation(tx, scope, seededId('fiop', 10), leaseMs);
    await claimOperationOfIntent(tx, scope, seededId('fpi', 30), leaseMs);
    await findDecision(tx, scope, seededId('fpi', 30));
    await loadCaptureLines(tx, scope, seededId('fcap', 1));
    const none = { amount: cents(0), tax: cents(0), shipping: cents(0), discount: cents(0) };
    const nothing = { ...none, lines: [], cards: [], releases: [], isFinal: true };
    const begun = { id: newId('capture'), sessionId: seededId('fcs', 5), cause: 'page', at: new Date() } as const;
    await adoptOperation(tx, scope, { ...begun, allocation: nothing, metadata: {} }, 'fiop_none');
    await claimOperationOfCapture(tx, scope, seededId('fcap', 50), leaseMs);
    await claimPlan(tx, scope, seededId('fcs', 5), leaseMs);
    await endHeldPlan(tx, scope, seededId('fcs', 8), 'done');
    await releaseRunningPlan(tx, scope, seededId('fcs', 6));
    await unbillIntents(tx, scope, seededId('fcs', 20));
    await advanceRenewalNote(tx, scope, seededId('fcs', 4), seededId('fsub', 4), 2n);
    await takeNextTry(tx, scope, seededId('fseti', 1), 0);
    await claimKey(tx, scope, use, leaseMs);
    await releaseKeyOfAttempt(tx, scope, seededId('fatt', 60));
    await unlinkAttempt(tx, scope, seededId('fatt', 40));
    await finishKeyOfAttempt(tx, scope, seededId('fatt', 20), { status: 200, body: Buffer.from('x') });
  });
}

async function adoptTypedCard({ context, scope }: ChargingFixture, sessionId: string): Promise<void> {
  const processor = context.processors.of(scope);
  const typed = await processor.createPaymentMethod({ token: 'tok_visa' }, { idempotencyKey: newId('request') });
  if (typed.kind !== 'found') throw new Error(`The sandbox answered ${typed.kind}`);
  const { paymentMethodId: processorPaymentMethodId } = typed;
  const given = { sessionId, testClockId: null, processorPaymentMethodId, loc: [], offSession: false };
  await adoptPageCard(context, scope, given);
  await adoptPageCard(context, scope, given);
}

// For each finder: what is due in all accounts is a tenth of all records and more.
async function runJobs({ clock, database, scope }: ChargingFixture): Promise<void> {
  const first = await dueSessions(database, new Date(), 10);
  await dueSessions(database, new Date(), 10, first.last);
  await nextDueSession(database, new Date());
  await dueSessionsOnClocks(database, 10);
  await settledClocks(database, 10);
  await dueCatalogTasks(database, 10);
  await nextCatalogTaskInMs(database);
  await dueChargeWork(database, 10);
  await nextChargeWorkInMs(database);
  await countChargeWork(database, 0);
  const told = { disputeId: seededId('fdp', 60), amountCents: cents(50), heldCents: cents(50), seq: 2n };
  await recordDispute({ database }, scope, `pi_${seededId('fpi', 60).slice(4)}`, told);
  await findChargeAtProcessor(database, scope, seededId('fch', 60));
  const event = { processor: 'sandbox', eventId: 'evt_new', type: 'payment_intent.succeeded', createdAt: new Date() };
  const intent = `pi_${seededId('fpi', 60).slice(4)}`;
  await acceptProcessorEvent({ database, clock }, scope, { ...event, objectId: intent });
  const canceled = { ...event, eventId: 'evt_canceled', type: 'payment_intent.canceled' };
  await acceptProcessorEvent({ database, clock }, scope, { ...canceled, objectId: intent });
  await withTx(database, null, (tx) => pruneProcessorEvents(tx, 10));
  await withTx(database, null, (tx) => pruneSessionKeys(tx, 10));
  await withTx(database, null, (tx) => pruneKeys(tx, 10));
}
