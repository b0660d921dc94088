import { withTx } from '@eligo/postgres';
import {
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededId,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { beforeAll, expect, test } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { advanceTestClock, createTestClock, removeTestClock } from '../src/actions/test-clocks.ts';
import type { ReceiptContent } from '../src/domain/receipt.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { runDue, runDueSubscriptions } from '../src/jobs/run-due.ts';
import { billingService } from '../src/service.ts';
import { findInvoices, listInvoices } from '../src/store/invoices.ts';
import { addMail, claimMail, dueMails, nextMailAt, recordMail } from '../src/store/receipt-mails.ts';
import {
  findDocuments,
  findReceipt,
  findReceiptOfSession,
  insertReceipt,
  keepDocuments,
  listReceipts,
} from '../src/store/receipts.ts';
import { findSubscription, findSubscriptions, listSubscriptions } from '../src/store/subscriptions.ts';
import { moveTestClock } from '../src/store/test-clocks.ts';
import { seedBilling } from './growth-seed.ts';
import { callOf, type Machine, machine, sell, start } from './machine.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: billingService, seed: seedBilling, run });
}, 240_000);

test('every statement of the store is run on the large account', () => {
  // Billing keeps no idempotency keys.
  expect(statementsNotRun(read.large).filter((name) => !name.startsWith('idempotency.'))).toEqual([]);
});

test('no statement reads more in an account of 100,000 of each record than in one of 1,000', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // Five hundred clocks: of each its first subscription and its time, and the step to the next.
  { statement: /clocks_of_due|with recursive clock/, rows: 2_100 },
];

const scope = { accountId: seededAccount, testMode: true };

async function run(place: TestDatabase): Promise<void> {
  const on = await machine({ place });
  const { database, work } = on;
  const call = callOf(scope);
  const clock = await createTestClock(work, call, { frozenTime: start, name: null });
  const { subscriptionId, invoiceId } = await sell(on, scope, { testClockId: clock.id, cancelAtPeriodEnd: true });
  const now = { atPeriodEnd: false, refund: 'full', refundAmountCents: null } as const;
  await cancelSubscription(work, scope, (await sell(on, scope)).subscriptionId, now);
  await advanceTestClock(work, call, clock.id, new Date('2026-06-01'));
  await withTx(database, scope, (tx) => moveTestClock(tx, scope, clock.id, new Date('2026-06-02'), 'advancing'));
  await finishClocks({ ...work, callerFor: () => ({}) as never }, new AbortController().signal);
  await runDueSubscriptions(work);
  await removeTestClock(work, call, clock.id);
  await runDue(work).run(new AbortController().signal);
  // Before anything was due, the job looks for when something will be.
  on.at('2020-01-01');
  await runDue(work).run(new AbortController().signal);
  await runRenewals(on);
  await findSubscription(database, scope, seededId('fsub', 1));
  await findSubscriptions(database, scope, [subscriptionId, seededId('fsub', 1)]);
  await findInvoices(database, scope, [invoiceId, seededId('fin', 1)]);
  await runReceipts(on);
  await runLists(on);
}

async function runReceipts({ database, work }: Machine): Promise<void> {
  const receiptId = seededId('frcpt', 1);
  await findReceipt(database, scope, receiptId);
  await findReceiptOfSession(database, scope, seededId('fcs', 1));
  await withTx(database, scope, async (tx) => {
    await insertReceipt(tx, scope, {
      ...newReceipt,
      id: newId('receipt'),
      checkoutSessionId: newId('checkout_session'),
    });
    await keepDocuments(tx, scope, receiptId, { html: 'x', pdf: Buffer.from('x') });
    const mail = { id: newId('receipt_mail'), receiptId: seededId('frcpt', 3), cause: null, at: start };
    await addMail(tx, scope, mail);
    const claimed = await claimMail(tx, scope, mail.id, 1_000);
    if (claimed === undefined) throw new Error('a new mail is not due');
    await recordMail(tx, scope, claimed, { status: 'pending', code: 'x', pauseMs: 1 });
  });
  await findDocuments(database, scope, receiptId);
  await dueMails(work.database, 10);
  await nextMailAt(work.database);
}

const newReceipt = {
  subscriptionId: null,
  email: 'jo@example.com',
  amountCents: cents(100),
  content: {} as ReceiptContent,
  createdAt: start,
};

// One that is paid by two cards, one that a card pays after a decline, one that is dunned to its end, and one whose catalog is down.
async function runRenewals(on: Machine): Promise<void> {
  const { work, peers } = on;
  on.at(start);
  const call = callOf(scope);
  const clock = await createTestClock(work, call, { frozenTime: start, name: null });
  const testClockId = clock.id;
  await sell(on, scope, { testClockId, backup: peers.card(false), items: [{}, { eligibility: 'not_eligible' }] });
  const { card } = await sell(on, scope, { testClockId });
  await sell(on, scope, { testClockId, card: peers.card(true, 'stolen_card') });
  peers.behave(card, 'insufficient_funds');
  await advanceTestClock(work, call, clock.id, new Date('2026-05-01'));
  peers.behave(card, 'pays');
  await advanceTestClock(work, call, clock.id, new Date('2026-05-10'));
  peers.isCatalogDown = true;
  await advanceTestClock(work, { ...call, timeoutMs: () => 600 }, clock.id, new Date('2026-06-01'));
  peers.isCatalogDown = false;
}

async function runLists({ database }: Machine): Promise<void> {
  const sides = [{}, { startingAfter: 100 }, { endingBefore: 100 }];
  for (const side of sides) {
    const page = (prefix: string) => ({
      limit: 10,
      ...Object.fromEntries(Object.entries(side).map(([name, number]) => [name, seededId(prefix, number)])),
    });
    for (const filter of [{}, { customerId: seededId('fcus', 1) }, { status: 'active' }]) {
      await listSubscriptions(database, scope, page('fsub'), filter);
    }
    for (const filter of [{}, { checkoutSessionId: seededId('fcs', 1) }, { subscriptionId: seededId('fsub', 1) }]) {
      await listReceipts(database, scope, page('frcpt'), filter);
    }
    for (const filter of [{}, { customerId: seededId('fcus', 1) }, { subscriptionId: seededId('fsub', 1) }]) {
      await listInvoices(database, scope, page('fin'), { ids: [], ...filter });
    }
  }
}
