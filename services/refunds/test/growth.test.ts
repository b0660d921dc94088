import { paddedPdf } from '@eligo/pdf/padded-pdf';
import { claimKey, finishKey, type KeyUse, linkAttempt, pruneKeys, withTx } from '@eligo/postgres';
import {
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededId,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import { cents } from '@eligo/values';
import { beforeAll, expect, test } from 'vitest';
import { eraseDisputes } from '../src/actions/erase-disputes.ts';
import { handleProcessorEvents } from '../src/actions/handle-processor-events.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Context } from '../src/context.ts';
import type { RequestedRefund } from '../src/domain/refund.ts';
import { refundsService } from '../src/service.ts';
import * as disputes from '../src/store/disputes.ts';
import { countWorkInDoubt, dueWork, nextWorkInMs, postponeWork, wakeRefundWork } from '../src/store/due-work.ts';
import { findOpenDisputes } from '../src/store/erased-intents.ts';
import * as eventLists from '../src/store/event-lists.ts';
import * as evidenceFiles from '../src/store/evidence-files.ts';
import { fillProcessorAccount, nextWithoutProcessor } from '../src/store/items-without-processor.ts';
import * as processorEvents from '../src/store/processor-events.ts';
import * as refundAttempts from '../src/store/refund-attempts.ts';
import { postponeReleasingItem } from '../src/store/refund-items.ts';
import { findRefund, listRefunds } from '../src/store/refunds.ts';
import { claimRequest, insertRequests, refusalOf, refuseRequest } from '../src/store/requested-refunds.ts';
import { type Fixture, openFixture, under, untilStatus } from './fixture.ts';
import { exerciseLedger } from './growth-ledger.ts';
import { keyHash, seedRefunds } from './growth-seed.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: refundsService, seed: seedRefunds, run });
}, 240_000);

test('every statement of the store is run on the large account', () => {
  expect(statementsNotRun(read.large).filter((name) => !ofOtherServices.includes(name))).toEqual([]);
});

// What this service does not do with a key.
const ofOtherServices = [
  'idempotency.finish_by_attempt',
  'idempotency.insert_several',
  'idempotency.read',
  'idempotency.release_by_attempt',
];

test('no statement reads more in a large account than in a small one', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // Three counts that stop at a thousand, and what they pass over.
  { statement: /limit 1000\) counted|work_in_doubt|in_doubt/, rows: 4_100 },
];

const scope = { accountId: seededAccount, testMode: true };

async function run(place: TestDatabase): Promise<void> {
  const on = await openFixture({ place });
  try {
    await runRefunds(on);
    await runLists(on);
    await runRare(on);
    await runFinders(on);
    await runEvents(on);
    await runEventLists(on);
    await runDisputes(on);
    await exerciseLedger(on);
  } finally {
    await on.close();
  }
}

async function runRefunds(on: Fixture): Promise<void> {
  const session = await on.paid(scope, { hsa: 4_000, refund_pending: 100 });
  const request = { sessionId: session.id, instruction: { amountCents: 100n }, idempotency: under('k') };
  const first = (await on.refunds.refundSession(request, on.as(scope))).refund?.refundId ?? '';
  await on.refunds.refundSession(request, on.as(scope));
  await untilStatus(on, scope, first, 'succeeded');
  await on.refunds.updateRefund({ id: first, reason: 'x' }, on.as(scope));
  await on.refunds.settleTestRefund({ id: first, succeed: false }, on.as(scope));
  await on.refunds.refundSession({ ...request, idempotency: undefined }, on.as(scope));
  on.checkout.trouble('busy');
  await on.refunds.refundSession({ ...request, idempotency: under('k2') }, on.as(scope)).catch(() => undefined);
  on.checkout.trouble('lost_before');
  await on.refunds.refundSession({ ...request, idempotency: under('k3') }, on.as(scope)).catch(() => undefined);
  await on.fault({ call: 'refunds.create', kind: 'error_before' });
}

// Each filter of the list, from both ends and from the middle.
async function runLists({ service: { database } }: Fixture): Promise<void> {
  await findRefund(database, scope, seededId('fre', 4));
  for (const side of [{}, { startingAfter: seededId('fre', 100) }, { endingBefore: seededId('fre', 100) }]) {
    for (const number of [1, 999]) {
      const filters = [
        {},
        { checkoutSessionId: seededId('fcs', number) },
        { paymentIntentId: seededId('fpi', number) },
        { paymentIntentId: seededId('fpi', number), checkoutSessionId: seededId('fcs', number) },
      ];
      for (const filter of filters) await listRefunds(database, scope, filter, { limit: 10, ...side });
    }
  }
}

// What only crashes, lost answers and repeats lead to.
async function runRare({ service: { database } }: Fixture): Promise<void> {
  const leaseMs = 30_000;
  const attemptId = seededId('fatt', 53);
  const use: KeyUse = {
    endpoint: 'refund',
    key: 'key 40',
    requestHash: keyHash,
    otherRequest: 'refuse',
  };
  const refused = {
    refundId: seededId('fre', 60),
    epoch: 2,
    code: 'conflict',
    answer: { status: 409, body: Buffer.from('x') },
  };
  const paymentIntentId = seededId('fpi', 1);
  await withTx(database, scope, async (tx) => {
    await refundAttempts.claimAttempt(tx, scope, attemptId, leaseMs);
    await refundAttempts.findHeldAttempt(tx, scope, attemptId, 2);
    await refundAttempts.fenceAttempt(tx, scope, attemptId, 2, 1_000);
    await refundAttempts.postponeSend(tx, scope, attemptId, 2, 1_000);
    await refundAttempts.moveAttempt(tx, scope, attemptId, { status: 'failed', failureCode: 'x' });
    const again = {
      ...{ refundId: seededId('fre', 53), paymentIntentId, processorIntentId: `pi_${'1'.padStart(26, '0')}` },
    };
    await refundAttempts.insertAttempts(
      tx,
      scope,
      [{ ...again, attemptId: 'fatt_new', amountCents: cents(50) }],
      leaseMs,
    );
    await refundAttempts.postponeLook(tx, scope, seededId('fatt', 4), 1_000);
    const releasing = { refundId: seededId('fre', 22), paymentIntentId, epoch: 1, checks: 9 };
    await fillProcessorAccount(tx, scope, { processor: 'sandbox', account: 'acct_growth' }, 100);
    await postponeReleasingItem(tx, scope, releasing, 1_000);
    await insertRequests(tx, scope, ['fre_together_1', 'fre_together_2'].map(requested), 3_600_000);
    await claimRequest(tx, scope, refused.refundId, leaseMs);
    await refuseRequest(tx, scope, refused);
    await refusalOf(tx, scope, refused.refundId);
    await claimKey(tx, scope, use, leaseMs);
    await linkAttempt(tx, scope, use, seededId('fre', 40));
    await finishKey(tx, scope, use, refused.answer);
  });
}

function requested(refundId: string): RequestedRefund {
  const none = { operationId: null, reason: null, subscriptionId: null, invoiceId: null };
  const subject = { kind: 'session', sessionId: seededId('fcs', 4) } as const;
  return { refundId, subject, instruction: Buffer.from(''), features: [], metadata: {}, ...none };
}

// Events that arrive, wait, and are handled or dropped.
async function runEvents(on: Fixture): Promise<void> {
  const { database } = on.service;
  await on.arrives(scope, 'refund.updated', 're_somewhere_else', 'evt_new');
  await handleProcessorEvents(
    {
      ...{ database, budgets: defaultBudgets, failpoint: () => undefined },
      processors: { findAt: on.port },
    } as unknown as Context,
    scope,
    're_somewhere_else',
  );
  const waiting = {
    processor: 'sandbox',
    processorAccount: null,
    eventId: 'evt_new',
    type: 'refund.updated',
    checks: 1,
    waitedMs: 0,
  };
  await withTx(database, scope, (tx) => processorEvents.settleEvents(tx, scope, [waiting], 'dropped'));
  const { last } = await processorEvents.dueEventObjects(database, processorEvents.firstPlace, {
    accounts: 20,
    each: 10,
  });
  await processorEvents.dueEventObjects(database, last ?? processorEvents.firstPlace, { accounts: 20, each: 10 });
  await processorEvents.wakeEvents(database, 1_000, 10);
  await processorEvents.nextEventInMs(database);
  await processorEvents.countWaitingEvents(database, 300);
  await withTx(database, null, (tx) => processorEvents.pruneProcessorEvents(tx, 10));
}

// A list of events that is found, read and put off.
async function runEventLists({ service: { database } }: Fixture): Promise<void> {
  const account = { processor: 'sandbox', account: 'acct_new' } as const;
  const list = { scope, account };
  await eventLists.unreadEventLists(database, [list]);
  await withTx(database, scope, (tx) => eventLists.watchEventList(tx, list, new Date(0), -1));
  await eventLists.dueEventLists(database, 10);
  await eventLists.nextEventListInMs(database);
  await eventLists.eventListLagSeconds(database);
  await eventLists.accountsAtProcessor(database, 'sandbox', 'acct_new');
  await withTx(database, scope, async (tx) => {
    const claimed = await eventLists.claimEventList(tx, list, 30_000);
    if (claimed === undefined) throw new Error('the list was not claimed');
    await eventLists.saveReading(tx, claimed, new Date(), 'evt_1', 30_000);
    await eventLists.finishReading(tx, claimed, new Date(), 1_000);
    await eventLists.postponeReading(tx, claimed, 1_000);
  });
}

async function runDisputes(on: Fixture): Promise<void> {
  const { database } = on.service;
  const session = await on.paid(scope, { hsa: 4_000 });
  const { disputeId: id } = await on.refunds.createTestDispute(
    { chargeId: session.cards[0]?.chargeId ?? '' },
    on.as(scope),
  );
  await on.refunds.updateDispute(
    { id, evidence: { product_description: 'x' }, metadata: {}, replaceMetadata: true },
    on.as(scope),
  );
  await on.refunds.getDispute({ id: seededId('fdp', 4) }, on.as(scope));
  for (const side of [{}, { startingAfter: seededId('fdp', 100) }, { endingBefore: seededId('fdp', 100) }]) {
    for (const number of [1, 999]) {
      const filters = [
        {},
        { checkoutSessionId: seededId('fcs', number) },
        { paymentIntentId: seededId('fpi', number) },
        { chargeId: seededId('fch', number) },
      ];
      for (const filter of filters) await disputes.listDisputes(database, scope, filter, { limit: 10, ...side });
    }
  }
  await giveFile(on, id);
  const intents = [seededId('fpi', 1), session.cards[0]?.paymentIntentId ?? ''];
  await findOpenDisputes(on.operator(), scope, intents);
  const { disputes: erased } = await eraseDisputes(on.operator(), scope, intents);
  expect(erased).toBeGreaterThan(0);
  await disputes.accountOfDispute(database, scope, 'sandbox', `du_${seededId('fdp', 4)}`);
  await disputes.dueDisputes(database, 10);
  await disputes.nextDisputeInMs(database);
  await withTx(database, scope, async (tx) => {
    const claimed = {
      disputeId: seededId('fdp', 4),
      processorDisputeId: 'du',
      epoch: 1n,
      before: undefined,
      checks: 0,
    };
    await disputes.putOffDispute(tx, scope, seededId('fdp', 6), 1_000);
    await disputes.postponeDispute(tx, scope, claimed, 1_000);
    await disputes.forgetDispute(tx, scope, claimed);
  });
}

async function giveFile({ refunds, as, service: { database } }: Fixture, disputeId: string): Promise<void> {
  const content = paddedPdf(1_000);
  for (const fileId of ['ffile_first', 'ffile_second']) {
    const file = { field: 'receipt', fileId, type: 'pdf', sizeBytes: content.length };
    const key = { disputeId, field: 'receipt', fileId };
    await refunds.beginEvidence({ disputeId, files: [file] }, as(scope));
    await evidenceFiles.useNextKey(database, scope, key, 1);
    await refunds.addEvidencePart({ ...key, part: 0, bytes: content }, as(scope));
    await refunds.uploadEvidence(key, as(scope));
    await refunds.updateDispute({ id: disputeId, evidence: { receipt: fileId } }, as(scope));
  }
  await evidenceFiles.staleContent(database, 10);
  const seeded = { disputeId: seededId('fdp', 5), field: 'receipt', fileId: seededId('ffile', 5) };
  await evidenceFiles.clearContent(database, scope, seeded);
  await evidenceFiles.clearStaleContent(database, scope, {
    ...seeded,
    fileId: seededId('ffile', 9),
    disputeId: seededId('fdp', 9),
  });
}

async function runFinders({ service: { database } }: Fixture): Promise<void> {
  const { last } = await dueWork(database, 10);
  await dueWork(database, 10, last);
  await nextWithoutProcessor(database, { accountId: '', testMode: false });
  await nextWorkInMs(database);
  await wakeRefundWork(database, 0, 10);
  await countWorkInDoubt(database, 300);
  const pauses = { pausesMs: [1_000], afterFailedLookMs: 1_000 };
  const refundId = seededId('fre', 20);
  await withTx(database, scope, async (tx) => {
    await postponeWork(tx, { kind: 'requested', scope, refundId }, pauses);
    await postponeWork(tx, { kind: 'attempt', scope, attemptId: seededId('fatt', 3) }, pauses);
    const releasing = { refundId: seededId('fre', 2), paymentIntentId: seededId('fpi', 1) };
    await postponeWork(tx, { kind: 'releasing', scope, ...releasing }, pauses);
  });
  await withTx(database, null, (tx) => pruneKeys(tx, 10));
}
