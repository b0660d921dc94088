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
import { refundsService } from '../src/service.ts';
import { countWorkInDoubt, dueWork, nextWorkInMs, postponeWork } from '../src/store/due-work.ts';
import * as refundAttempts from '../src/store/refund-attempts.ts';
import { postponeReleasingItem } from '../src/store/refund-items.ts';
import { findRefund, listRefunds } from '../src/store/refunds.ts';
import { claimRequest, refusalOf, refuseRequest } from '../src/store/requested-refunds.ts';
import { keyHash, seedRefunds } from './growth-seed.ts';
import { type Machine, machine, under, untilStatus } from './machine.ts';

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

test('no statement reads more in an account of 100,000 of each record than in one of 1,000', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // Three counts that stop at a thousand, and what they pass over.
  { statement: /limit 1000\) counted|work_in_doubt/, rows: 4_100 },
];

const scope = { accountId: seededAccount, testMode: true };

async function run(place: TestDatabase): Promise<void> {
  const on = await machine({ place });
  try {
    await runRefunds(on);
    await runLists(on);
    await runRare(on);
    await runFinders(on);
  } finally {
    await on.close();
  }
}

async function runRefunds(on: Machine): Promise<void> {
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
async function runLists({ service: { database } }: Machine): Promise<void> {
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
async function runRare({ service: { database } }: Machine): Promise<void> {
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
    await postponeReleasingItem(tx, scope, releasing, 1_000);
    await claimRequest(tx, scope, refused.refundId, leaseMs);
    await refuseRequest(tx, scope, refused);
    await refusalOf(tx, scope, refused.refundId);
    await claimKey(tx, scope, use, leaseMs);
    await linkAttempt(tx, scope, use, seededId('fre', 40));
    await finishKey(tx, scope, use, refused.answer);
  });
}

async function runFinders({ service: { database } }: Machine): Promise<void> {
  const { last } = await dueWork(database, 10);
  await dueWork(database, 10, last);
  await nextWorkInMs(database);
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
