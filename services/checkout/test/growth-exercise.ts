import {
  claimKey,
  findKey,
  finishKeyOfAttempt,
  type KeyUse,
  linkAttempt,
  pruneKeys,
  releaseKeyOfAttempt,
  unlinkAttempt,
  withTx,
} from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { carryOutCapture } from '../src/actions/carry-out-capture.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createSession } from '../src/actions/create-session.ts';
import { cancelSession, expireIfDue } from '../src/actions/end-session.ts';
import { importIssuerRanges } from '../src/actions/import-issuer-ranges.ts';
import { readPage } from '../src/actions/read-page.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { planCapture, writeCapture } from '../src/actions/request-capture.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { updateSession } from '../src/actions/update-session.ts';
import { allHeld } from '../src/domain/capture-allocation.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { findCaptureRecord, listCaptures } from '../src/store/capture-records.ts';
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
import { dueSessions, dueSessionsOnClocks, nextDueSession } from '../src/store/due-sessions.ts';
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
import { lockPaidCard } from '../src/store/refund-facts.ts';
import { closeRefundId } from '../src/store/refund-reservations.ts';
import { advanceRenewalNote } from '../src/store/renewal-notes.ts';
import { pruneSessionKeys } from '../src/store/session-keys.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { type SessionFilter, streamSessions } from '../src/store/session-list.ts';
import { loadSession, lockSession } from '../src/store/sessions.ts';
import { findSetupIntent, listSetupIntents, takeNextTry } from '../src/store/setup-intents.ts';
import { actingTime, findTestClock, mirrorTestClock, settleClock, settledClocks } from '../src/store/test-clocks.ts';
import type { ChargingWorld } from './charging-world.ts';
import { keyHash } from './growth-seed.ts';
import { sessionMessage } from './world.ts';

/** Runs every statement of checkout, for new records and for seeded ones, of which the first customer has a fifth. */
export async function exerciseCheckout(world: ChargingWorld): Promise<void> {
  await runStore(world);
  await runLists(world);
  await payAndRefund(world);
  await payWithTrouble(world);
  await captureHolds(world);
  await runRare(world);
  await runJobs(world);
}

const firstCustomer = seededId('fcus', 1);

async function runStore(world: ChargingWorld): Promise<void> {
  const { database, scope, resources, call, clock } = world;
  const make = (parts: object) => createSession(resources, call, sessionRequestOf(sessionMessage(parts)));
  const nobody = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
  const key = { key: 'k', requestHash: new Uint8Array(32) };
  const { customerId } = await createCustomer(resources, scope, { ...nobody, metadata: {}, testClockId: null }, key);
  const made = await make({
    customerId,
    sellingPlans: [{ id: 'plan' }],
    fees: [{ amountCents: 1n }],
    discounts: [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }],
    idempotency: key,
  });
  await loadSession(database, scope, made.id);
  await loadSessionLines(database, scope, made.id);
  await readCreationFacts(database, scope, {
    customerId: seededId('fcus', 10),
    paymentMethodId: seededId('fpm', 1),
    key: 'key 1',
  });
  await updateSession(resources, scope, made.id, { metadata: { a: 'b' } });
  await expireIfDue(resources, scope, made.id);
  await cancelSession(resources, scope, made.id);
  await actingTime(database, scope, clock, seededId('fcus', 10));
  await findTestClock(database, scope, seededId('fclk', 10));
  await findCustomer(database, scope, firstCustomer);
  await findCustomers(database, scope, [firstCustomer, customerId]);
  await paymentMethods.findPaymentMethod(database, scope, seededId('fpm', 1));
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
    await noteProcessorCustomer(tx, scope, firstCustomer, 'cus_x');
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
async function runLists({ database, scope }: ChargingWorld): Promise<void> {
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

const pay = ({ charging, scope }: ChargingWorld, session: Session, cards: PaymentMethod[]) =>
  completeSession(charging, scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
  });

async function payAndRefund(world: ChargingWorld): Promise<void> {
  const { charging, scope } = world;
  const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
  const session = await world.mixedSession(hsa);
  await pay(world, session, [hsa, credit]);
  const refundId = newId('refund');
  await reserveRefund(charging, scope, {
    ...{ refundId, sessionId: session.id, paymentIntentId: null, features: [], preview: false },
    instruction: {
      ...{ amount: undefined, entries: [], tax: undefined, shipping: undefined, discount: undefined, methods: [] },
    },
  });
  await releaseRefund(charging, scope, refundId, []);
  await chargeInvoice(charging, scope, {
    operationId: newId('charge_attempt'),
    invoiceId: newId('invoice'),
    subscriptionId: null,
    ...{ customerId: hsa.customerId, paymentMethodId: hsa.id, amountCents: cents(900), leg: 'health', at: new Date() },
  });
}

// Lost answers, declines, given-up attempts, holds that are let go and one that is gone.
async function payWithTrouble(world: ChargingWorld): Promise<void> {
  const [hsa, credit, declined] = await Promise.all([world.card('hsa'), world.card('credit'), world.card('declined')]);
  await pay(world, await world.mixedSession(hsa), [hsa, declined]);
  const waiting = await world.mixedSession(hsa);
  await pay(world, waiting, [hsa]);
  await cancelSession(world.resources, world.scope, waiting.id);
  const lost = await world.mixedSession(hsa);
  await world.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
  await pay(world, lost, [hsa, credit]);
  await world.cancelAtProcessor(lost, 'health');
  // The first goes alone, and the others meanwhile together.
  const ready = await Promise.all(Array.from({ length: 4 }, () => world.card('hsa')));
  const sessions = await Promise.all(ready.map((card) => world.mixedSession(card)));
  await Promise.all(ready.map((card, index) => world.confirm(sessions[index] as Session, card)));
  for (const call of ['payment_intents.create', 'payment_intents.confirm']) {
    const card = await world.card('hsa');
    const session = await world.mixedSession(card);
    await world.fault({ call, kind: 'drop_after', times: 1 });
    await world.confirm(session, card).catch(() => undefined);
  }
}

// Two cards, captured; and of two others the first, or the second, is gone by then.
async function captureHolds(world: ChargingWorld): Promise<void> {
  const { charging, database, scope } = world;
  for (const gone of [undefined, 'health', 'other'] as const) {
    const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
    const session = await world.mixedSession(hsa, { captureMethod: 'manual' });
    await pay(world, session, [hsa, credit]);
    if (gone !== undefined) await world.cancelAtProcessor(session, gone);
    const id = newId('capture');
    const operation = await withTx(database, scope, async (tx) => {
      const held = await lockSession(tx, scope, session.id);
      if (held === undefined) throw new Error('the session is gone');
      const request = { session: held, cause: 'letter', instruction: allHeld, at: new Date() } as const;
      const { allocation } = await planCapture(tx, scope, request);
      return writeCapture(tx, scope, request, allocation, { id, leaseMs: 4_000 });
    });
    if (operation === undefined) throw new Error('nothing is captured');
    await carryOutCapture(charging, scope, operation, performance.now() + 4_000);
    await findCaptureRecord(database, scope, id);
  }
  for (const filter of [{}, { sessionId: seededId('fcs', 1) }, { paymentIntentId: seededId('fpi', 1) }]) {
    await listCaptures(database, scope, { limit: 10 }, filter);
    await listCaptures(database, scope, { limit: 10, startingAfter: seededId('fcap', 500) }, filter);
  }
}

// What only crashes, lost answers and repeats lead to.
async function runRare(world: ChargingWorld): Promise<void> {
  const { database, scope } = world;
  const leaseMs = 1_000;
  const use: KeyUse = { endpoint: 'confirm', key: 'key 20', requestHash: keyHash, otherRequest: 'refuse' };
  await findIntent(database, scope, seededId('fpi', 1));
  await findIntents(database, scope, [seededId('fpi', 1), seededId('fpi', 2)]);
  await findSetupIntent(database, scope, seededId('fseti', 1));
  await findKey(database, scope, use);
  const card = await world.card('hsa');
  const setUp = await world.session({ mode: 'setup', lines: [], customerId: card.customerId });
  await pay(world, setUp, [card]);
  await readPage(world.charging, scope, seededId('fcs', 5));
  await adoptTypedCard(world, (await world.mixedSession(card)).id);
  await arePaymentLocksHeld(database, scope, { customerId: seededId('fcus', 1), paymentMethodId: seededId('fpm', 1) });
  await withTx(database, scope, async (tx) => {
    await lockPaidCard(tx, scope, seededId('fpi', 1));
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

async function adoptTypedCard({ charging, scope }: ChargingWorld, sessionId: string): Promise<void> {
  const processor = charging.processors.of(scope);
  const typed = await processor.createPaymentMethod({ token: 'tok_visa' }, { idempotencyKey: newId('request') });
  if (typed.kind !== 'found') throw new Error(`The sandbox answered ${typed.kind}`);
  const { paymentMethodId: processorPaymentMethodId } = typed;
  const given = { sessionId, testClockId: null, processorPaymentMethodId, loc: [], offSession: false };
  await adoptPageCard(charging, scope, given);
  await adoptPageCard(charging, scope, given);
}

// For each finder: what is due in all accounts is a tenth of all records and more.
async function runJobs({ database }: ChargingWorld): Promise<void> {
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
  await withTx(database, null, (tx) => pruneSessionKeys(tx, 10));
  await withTx(database, null, (tx) => pruneKeys(tx, 10));
}
