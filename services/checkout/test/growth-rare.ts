import {
  claimKey,
  findKey,
  finishKeyOfAttempt,
  type KeyUse,
  linkAttempt,
  maxGroupSize,
  releaseKeyOfAttempt,
  type Scope,
  type Tx,
  unlinkAttempt,
  withTx,
} from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { cardKeeper } from '../src/actions/keep-card.ts';
import { readPage } from '../src/actions/read-page.ts';
import { keepShopperEmail } from '../src/actions/shopper-email.ts';
import { adoptOperation, loadCaptureLines } from '../src/store/captures.ts';
import { abandonAttempt, claimAttempt, postponeAttempt } from '../src/store/charge-attempts.ts';
import { kindsOfChargedCards } from '../src/store/charged-cards.ts';
import {
  claimOperation,
  claimOperationOfCapture,
  claimOperationOfIntent,
  findDecision,
} from '../src/store/intent-operations.ts';
import { abandonLateAttempt, awaitCustomer, endConfirmTime } from '../src/store/late-attempts.ts';
import { findIntent, findIntents, unbillIntents } from '../src/store/payment-intents.ts';
import { arePaymentLocksHeld } from '../src/store/payment-locks.ts';
import {
  claimPlan,
  endHeldPlan,
  hasLivePlan,
  lockPlan,
  releaseRunningPlan,
  wasWholeHeld,
} from '../src/store/payment-plans.ts';
import {
  loadPaidCards,
  loadRefundableLines,
  loadRefundStandings,
  lockPaidCard,
  lockRefundedSessions,
} from '../src/store/refund-facts.ts';
import { closeRefundId } from '../src/store/refund-reservations.ts';
import { loadRefundedLines } from '../src/store/refunded-lines.ts';
import { advanceRenewalNote } from '../src/store/renewal-notes.ts';
import { keepRestOfLetterFees, noteLetterFeeGivenBack } from '../src/store/session-lines.ts';
import { findBackupOf, findSetupIntent, takeNextTry } from '../src/store/setup-intents.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { keyHash } from './growth-seed.ts';
import { pay } from './pay.ts';

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

/** What only crashes, lost answers and repeats lead to. */
export async function exerciseRareWork(fixture: ChargingFixture): Promise<void> {
  const { database, scope } = fixture;
  const leaseMs = 1_000;
  const use: KeyUse = { endpoint: 'confirm', key: 'key 20', requestHash: keyHash, otherRequest: 'refuse' };
  await findIntent(database, scope, seededId('fpi', 1));
  await findIntents(database, scope, [seededId('fpi', 1), seededId('fpi', 2)]);
  await findSetupIntent(database, scope, seededId('fseti', 1));
  await findBackupOf(database, scope, seededId('fseti', 1));
  await findKey(database, scope, use);
  const receipted = await fixture.session({ receiptMerchantName: 'Care' });
  await keepShopperEmail(fixture.context, scope, receipted.id, 'ann@example.com');
  const lines = [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })];
  const { id: subscribing } = await fixture.session({ mode: 'subscription', lines });
  await cardKeeper(fixture.context, scope, subscribing, 'credit');
  await keepShopperEmail(fixture.context, scope, subscribing, 'ann@example.com');
  const card = await fixture.card('hsa');
  const setUp = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
  await pay(fixture, setUp, [card]);
  await readPage(fixture.context, scope, seededId('fcs', 5));
  await hasLivePlan(database, scope, seededId('fcs', 5));
  await wasWholeHeld(database, scope, seededId('fcs', 5));
  await adoptTypedCard(fixture, (await fixture.mixedSession(card)).id);
  await arePaymentLocksHeld(database, scope, { customerId: seededId('fcus', 1), paymentMethodId: seededId('fpm', 1) });
  await withTx(database, scope, async (tx) => {
    await lockPaidCard(tx, scope, seededId('fpi', 1));
    await readRefundFacts(tx, scope);
    await closeRefundId(tx, scope, seededId('fre', 1));
    await loadRefundedLines(tx, scope, seededId('fre', 1));
    await noteLetterFeeGivenBack(tx, scope, seededId('fcs', 5), [
      { lineId: newId('line_item'), amountCents: cents(1) },
    ]);
    await keepRestOfLetterFees(tx, scope, [seededId('fcs', 5)]);
    await kindsOfChargedCards(tx, scope, [seededId('fpi', 1), seededId('fpi', 2)]);
    await linkAttempt(tx, scope, use, seededId('fatt', 1));
    await claimAttempt(tx, scope, seededId('fatt', 21), leaseMs);
    await postponeAttempt(tx, scope, { id: seededId('fatt', 21), epoch: 2 }, 1_000);
    await abandonAttempt(tx, scope, seededId('fatt', 22), null);
    // Of another epoch: the seeded ones have no customer to wait for.
    await awaitCustomer(tx, scope, { id: seededId('fatt', 21), epoch: 9 });
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
    await lockPlan(tx, scope, { id: seededId('fplan', 1), sessionId: seededId('fcs', 1) });
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

async function adoptTypedCard({ context, scope, typedCard }: ChargingFixture, sessionId: string): Promise<void> {
  const processorPaymentMethodId = await typedCard('tok_visa');
  const given = { sessionId, testClockId: null, processorPaymentMethodId, loc: [], offSession: false };
  await adoptPageCard(context, scope, given);
  await adoptPageCard(context, scope, given);
}
