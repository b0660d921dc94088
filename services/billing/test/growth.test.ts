import { pruneKeys, withTx } from '@eligo/postgres';
import { firstTurn } from '@eligo/service';
import {
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededId,
  statementsNotRun,
  type TestDatabase,
  vacuumDeleted,
} from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { beforeAll, expect, test } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { changeBackupAgreement } from '../src/actions/change-backup-agreement.ts';
import { changeDunning } from '../src/actions/change-dunning.ts';
import { changeNotices } from '../src/actions/change-notices.ts';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
import { createSubscription } from '../src/actions/create-subscription.ts';
import { recordAccountFeatures } from '../src/actions/record-account-features.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { runDueSteps } from '../src/actions/run-due-steps.ts';
import { advanceTestClock, createTestClock, removeTestClock } from '../src/actions/test-clocks.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import { waitForFeatures } from '../src/actions/wait-for-features.ts';
import type { ReceiptContent } from '../src/domain/receipt.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { runDue, runDueSubscriptions } from '../src/jobs/run-due.ts';
import { settleCatalogTasks } from '../src/jobs/settle-catalog-tasks.ts';
import { openPlaces } from '../src/places.ts';
import { billingService } from '../src/service.ts';
import { findAuthenticationNotices } from '../src/store/authentication-notices.ts';
import { isBackupAgreed } from '../src/store/backup-agreements.ts';
import { insertCatalogTask, nextCatalogTaskInMs, postponeCatalogTask } from '../src/store/catalog-tasks.ts';
import { nextDueAt } from '../src/store/due-subscriptions.ts';
import { isErased, lockReceipts } from '../src/store/erased-sessions.ts';
import { noteNewCard, noteUpdatedCard } from '../src/store/invoice-charges.ts';
import { findIssuedFacts, loadProratedParts } from '../src/store/invoice-statements.ts';
import { findInvoices, listInvoices } from '../src/store/invoices.ts';
import { mailsOfPerson } from '../src/store/mails-of-person.ts';
import { findNotice, noticeMails } from '../src/store/notice-mails.ts';
import { findNoticeSettings } from '../src/store/notice-settings.ts';
import { addMail, giveUpMails, receiptMails } from '../src/store/receipt-mails.ts';
import {
  findDocuments,
  findReceipt,
  findReceiptOfSession,
  insertReceipt,
  keepDocuments,
  lastRefundedCents,
  listReceipts,
  nameOnReceipts,
  refundReceiptsSince,
} from '../src/store/receipts.ts';
import { findShopName, recordShopName } from '../src/store/shop-names.ts';
import { eraseMetadataOfSold } from '../src/store/sold-subscriptions.ts';
import { findSubscriptionMail, subscriptionMails } from '../src/store/subscription-mails.ts';
import {
  findSubscription,
  findSubscriptions,
  listSubscriptions,
  lockSubscription,
  saveSubscription,
} from '../src/store/subscriptions.ts';
import { listTestClocks, moveTestClock } from '../src/store/test-clocks.ts';
import { findTimeZone, recordTimeZone } from '../src/store/time-zones.ts';
import { wasUpdatedSince } from '../src/store/updated-cards.ts';
import { callOf, type Fixture, openFixture, sell, start } from './fixture.ts';
import { seedBilling } from './growth-seed.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: billingService, seed: seedBilling, run });
}, 240_000);

test('every statement of the store is run on the large account', () => {
  // Checkout's own test runs all that idempotency keys need.
  expect(statementsNotRun(read.large).filter((name) => !name.startsWith('idempotency.'))).toEqual([]);
});

test('no statement reads more in a large account than in a small one', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // Five hundred clocks: of each its first subscription and its time, and the step to the next.
  { statement: /clocks_of_due|with recursive clock/, rows: 2_100 },
];

const scope = { accountId: seededAccount, testMode: true };

async function run(place: TestDatabase): Promise<void> {
  const on = await openFixture({ place });
  const { database, context } = on;
  const call = callOf(scope);
  const clock = await createTestClock(context, call, { frozenTime: start, name: null });
  const { subscriptionId, invoiceId } = await sell(on, scope, { testClockId: clock.id, cancelAtPeriodEnd: true });
  const now = { atPeriodEnd: false, refund: 'full', refundAmountCents: null } as const;
  await cancelSubscription(context, scope, (await sell(on, scope)).subscriptionId, now);
  await advanceTestClock(context, call, clock.id, new Date('2026-06-01'));
  await withTx(database, scope, (tx) => moveTestClock(tx, scope, clock.id, new Date('2026-06-02'), 'advancing'));
  await finishClocks({ ...context, callerFor: () => ({}) as never }, new AbortController().signal);
  await runDueSubscriptions(context);
  await removeTestClock(context, call, clock.id);
  await runDue(context).run(new AbortController().signal);
  // Once nothing is due, the job looks for when something will be.
  on.at('2020-01-01');
  await runDue(context).run(new AbortController().signal);
  await nextDueAt(database, context.clock.now());
  await runRenewals(on);
  await findSubscription(database, scope, seededId('fsub', 1));
  await findSubscriptions(database, scope, [subscriptionId, seededId('fsub', 1)]);
  await findInvoices(database, scope, [invoiceId, seededId('fin', 1)]);
  await findIssuedFacts(database, scope, seededId('fin', 1));
  await loadProratedParts(database, scope, [seededId('fprr', 1), seededId('fprr', 2)]);
  await runCreations(on);
  await runItemChanges(on);
  await runReceipts(on);
  await runNotices(on);
  await runSubscriptionMails(on);
  for (const minutes of [5, 0]) await changeRenewalSpread(database, scope, minutes);
  await changeDunning(database, scope, { retryDays: [1, 3] });
  for (const isAgreed of [true, false]) await changeBackupAgreement(database, scope, isAgreed);
  await isBackupAgreed(database, scope);
  await runAwaitedFeatures(on);
  await withTx(database, scope, (tx) => retryWithUpdatedCard(context, tx, scope, newId('payment_method')));
  await withTx(database, scope, (tx) => wasUpdatedSince(tx, scope, { id: seededId('fatt', 1) }));
  await withTx(database, scope, (tx) => noteNewCard(tx, scope, seededId('fatt', 1)));
  await withTx(database, scope, (tx) => noteUpdatedCard(tx, scope, seededId('fin', 1), newId('payment_method')));
  await runLists(on);
  await runRareStatus(on, place);
}

// One that is paid at once, and one that takes an item less; and what is to be done at the catalog for their coupon.
async function runCreations({ context, peers, database }: Fixture): Promise<void> {
  const customerId = peers.customer();
  const couponId = peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' });
  const input = {
    ...{ customerId, items: [1, 2].map((quantity) => ({ priceId: peers.price(), quantity })) },
    ...{ trialEnd: null, trialDays: null, missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false },
    ...{ discount: { couponId, promoCode: null }, metadata: {}, prorationBehavior: null },
    ...{ defaultPaymentMethodId: peers.cardOf(customerId, true), backupPaymentMethodId: null },
  };
  const key = { key: 'a-key', requestHash: Buffer.alloc(32) };
  const { subscriptionId } = await createSubscription(context, callOf(scope), input, key);
  await createSubscription(context, callOf(scope), input, key);
  await settleCatalogTasks(context).run(new AbortController().signal);
  await nextCatalogTaskInMs(database);
  await withTx(database, null, (tx) => pruneKeys(tx, 10));
  await withTx(database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscriptionId);
    if (before === undefined) throw new Error('no subscription');
    await saveSubscription(tx, scope, before, { ...before, items: before.items.slice(1) });
    const task = { scope, discountId: newId('discount'), subscriptionId, kind: 'release' } as const;
    await insertCatalogTask(tx, task);
    await postponeCatalogTask(tx, task);
  });
}

// A credit and a charge that one invoice carries, and credits that a void invoice gives back.
async function runItemChanges(on: Fixture): Promise<void> {
  const { context, peers } = on;
  on.at(start);
  const { subscriptionId, card } = await sell(on, scope);
  on.at('2026-04-16');
  const changeTo = (unitAmountCents: number) =>
    updateSubscription(context, callOf(scope), subscriptionId, {
      items: [{ priceId: peers.price({ unitAmountCents }), quantity: 1 }],
      ...{ prorationBehavior: 'always_invoice', discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
    });
  await changeTo(6_000);
  peers.behave(card, 'insufficient_funds');
  const { latestInvoiceId } = await changeTo(12_000);
  await voidInvoice(context, callOf(scope), latestInvoiceId ?? '');
}

async function runReceipts({ database, context }: Fixture): Promise<void> {
  const receiptId = seededId('frcpt', 1);
  await findReceipt(database, scope, receiptId);
  await findReceiptOfSession(database, scope, seededId('fcs', 1));
  await nameOnReceipts(database, scope, seededId('fsub', 1));
  await findShopName(database, scope);
  const live = { ...scope, testMode: false };
  await withTx(database, live, (tx) => recordShopName(tx, live, { name: 'Care', version: 1n }));
  await findTimeZone(database, scope);
  await withTx(database, live, (tx) => recordTimeZone(tx, live, { timeZone: 'UTC', version: 1n }));
  await lastRefundedCents(database, scope, seededId('fre', 2));
  await withTx(database, scope, async (tx) => {
    await insertReceipt(tx, scope, {
      ...newReceipt,
      id: newId('receipt'),
      checkoutSessionId: newId('checkout_session'),
    });
    await lockReceipts(tx, scope, [seededId('fcs', 1)]);
    await isErased(tx, scope, seededId('fcs', 1));
    await eraseMetadataOfSold(tx, scope, [seededId('fcs', 1)]);
    await refundReceiptsSince(tx);
    await keepDocuments(
      tx,
      scope,
      { id: receiptId, content: {} as ReceiptContent },
      { html: 'x', pdf: Buffer.from('x') },
    );
    await addMail(tx, scope, { id: newId('receipt_mail'), receiptId: seededId('frcpt', 3), cause: null, at: start });
    const claimed = await receiptMails.claim(tx, scope, 1_000);
    if (claimed === undefined) throw new Error('no mail is due');
    await receiptMails.record(tx, scope, claimed, { status: 'pending', code: 'x', pauseMs: 1 });
    await giveUpMails(tx, scope, [seededId('frcpt', 3)]);
  });
  await findDocuments(database, scope, receiptId);
  await mailsOfPerson(database, scope, seededId('fcus', 1), [
    ...[seededId('frml', 1), seededId('fnml', 1), seededId('fsml', 1)],
  ]);
  await receiptMails.due(context.database, firstTurn, 10);
  await receiptMails.nextInMs(context.database);
}

// A mail about a failure of an invoice that the schedule still tries.
async function runNotices(on: Fixture): Promise<void> {
  const { database, context, peers } = on;
  on.at(start);
  const call = callOf(scope);
  const clock = await createTestClock(context, call, { frozenTime: start, name: null });
  const card = peers.card(true, 'insufficient_funds');
  const { subscriptionId } = await sell(on, scope, { testClockId: clock.id, card });
  await advanceTestClock(context, call, clock.id, new Date('2026-05-03'));
  const found = await on.test.admin<{ id: string }>(
    `select m.id from billing.notice_mails m join billing.subscriptions s on s.latest_invoice_id = m.invoice_id
     where m.account_id = $1 and s.account_id = $1 and s.id = $2 order by m.attempt`,
    [scope.accountId, subscriptionId],
  );
  const [first] = found;
  if (first === undefined || found.length > 2) throw new Error(`There are ${found.length} notices`);
  await findNotice(database, scope, first.id);
  await findAuthenticationNotices(database, scope);
  await findNoticeSettings(database, scope);
  await withTx(database, scope, async (tx) => {
    const claimed = await noticeMails.claim(tx, scope, 1_000);
    if (claimed === undefined) throw new Error('no notice is due');
    await noticeMails.record(tx, scope, claimed, { status: 'pending', code: 'x', pauseMs: 1 });
  });
  await noticeMails.due(database, firstTurn, 10);
  await noticeMails.nextInMs(database);
}

// Of a trial that ends, and of a subscription that was dunned to its end.
async function runSubscriptionMails(on: Fixture): Promise<void> {
  const { database, context } = on;
  await changeNotices(database, scope, { merchantName: 'Care', reminderDays: 7, mailsInvoices: true });
  on.at(start);
  const call = callOf(scope);
  const clock = await createTestClock(context, call, { frozenTime: start, name: null });
  await sell(on, scope, { testClockId: clock.id, trialDays: 10 });
  await advanceTestClock(context, call, clock.id, new Date('2026-04-05'));
  await findSubscriptionMail(database, scope, seededId('fsml', 1));
  await withTx(database, scope, async (tx) => {
    const claimed = await subscriptionMails.claim(tx, scope, 1_000);
    if (claimed === undefined) throw new Error('no mail is due');
    await subscriptionMails.record(tx, scope, claimed, { status: 'pending', code: 'x', pauseMs: 1 });
  });
  await subscriptionMails.due(database, firstTurn, 10);
  await subscriptionMails.nextInMs(database);
  await changeNotices(database, scope, { merchantName: null });
}

const newReceipt = {
  subscriptionId: null,
  refundId: null,
  email: 'jo@example.com',
  amountCents: cents(100),
  content: {} as ReceiptContent,
  createdAt: start,
};

// One that is paid by two cards, one that a card pays after a decline, one that is dunned to its end, and one whose catalog is down.
async function runRenewals(on: Fixture): Promise<void> {
  const { context, peers } = on;
  on.at(start);
  const call = callOf(scope);
  const clock = await createTestClock(context, call, { frozenTime: start, name: null });
  const testClockId = clock.id;
  await sell(on, scope, { testClockId, backup: peers.card(false), items: [{}, { eligibility: 'not_eligible' }] });
  const { card } = await sell(on, scope, { testClockId });
  await sell(on, scope, { testClockId, card: peers.card(true, 'stolen_card') });
  peers.behave(card, 'insufficient_funds');
  await advanceTestClock(context, call, clock.id, new Date('2026-05-01'));
  peers.behave(card, 'pays');
  await advanceTestClock(context, call, clock.id, new Date('2026-05-10'));
  peers.isCatalogDown = true;
  await advanceTestClock(context, { ...call, timeoutMs: () => 600 }, clock.id, new Date('2026-06-01'));
  peers.isCatalogDown = false;
  // Some that are renewed together, later than the account spreads its renewals over.
  on.at(start);
  const together = [await sell(on, scope), await sell(on, scope), await sell(on, scope)];
  on.at('2026-05-01T12:00:00.000Z');
  const ids = together.map(({ subscriptionId }) => subscriptionId);
  const onGivenBack = () => undefined;
  const limits = { pace: context.pace, charges: openPlaces(3), until: new Date('2026-05-02'), onGivenBack };
  if ((await runDueSteps(context, scope, ids, limits)) !== 3) throw new Error('not all were renewed');
}

// While all of the account's have one status, as often as a connection needs to keep its plan.
async function runRareStatus({ database }: Fixture, place: TestDatabase): Promise<void> {
  await place.admin(
    `set local session_replication_role = replica; delete from billing.subscriptions where status <> 'active'`,
  );
  await vacuumDeleted(place, ['billing.subscriptions']);
  for (let times = 0; times < 8; times += 1) {
    await listSubscriptions(database, scope, { limit: 10 }, { status: 'past_due' });
  }
}

// A renewal of what was sold by the food policy, before and after the gateway tells what the account can do.
async function runAwaitedFeatures(on: Fixture): Promise<void> {
  const { database, context } = on;
  on.at(start);
  const { subscriptionId } = await sell(on, scope);
  const subscription = await findSubscription(database, scope, subscriptionId);
  if (subscription === undefined) throw new Error('no subscription');
  const items = subscription.items.map((item) => ({ ...item, soldByRule: 'food_policy' }));
  const waiting = await waitForFeatures(context, scope, [{ ...subscription, items }]);
  if (waiting.size !== 1) throw new Error('It does not wait');
  await recordAccountFeatures(context, scope, { features: ['receipts'], version: 1n });
}

async function runLists({ database }: Fixture): Promise<void> {
  const sides = [{}, { startingAfter: 100 }, { endingBefore: 100 }];
  for (const side of sides) {
    const page = (prefix: string) => ({
      limit: 10,
      ...Object.fromEntries(Object.entries(side).map(([name, number]) => [name, seededId(prefix, number)])),
    });
    await listTestClocks(database, scope, page('fclk'));
    for (const filter of [{}, { customerId: seededId('fcus', 1) }, { status: 'active' }]) {
      await listSubscriptions(database, scope, page('fsub'), filter);
    }
    for (const filter of [
      {},
      { checkoutSessionId: seededId('fcs', 1) },
      { subscriptionId: seededId('fsub', 1) },
      { refundId: seededId('fre', 2) },
    ]) {
      await listReceipts(database, scope, page('frcpt'), filter);
    }
    for (const filter of [{}, { customerId: seededId('fcus', 1) }, { subscriptionId: seededId('fsub', 1) }]) {
      await listInvoices(database, scope, page('fin'), { ids: [], ...filter });
    }
  }
}
