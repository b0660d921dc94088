import { randomBytes } from 'node:crypto';
import { openKeyring } from '@eligo/service';
import { seededId } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { addReviewer, listReviewers, revokeReviewer } from '../src/actions/add-reviewer.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { decideByReviewer, openReview } from '../src/actions/review-letter.ts';
import { submitLetterAnswers } from '../src/actions/submit-letter-answers.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { dueLetters, dueLettersOnClocks, nextDueLetter } from '../src/store/due-letters.ts';
import { findValidLetters, type LetterFilter, listLetters } from '../src/store/letters.ts';
import { readReviewQueue } from '../src/store/review-queue.ts';
import type { ChargingWorld } from './charging-world.ts';
import { line } from './world.ts';

const firstCustomer = seededId('fcus', 1);

/** Runs every statement of letters, for new records and for seeded ones, of which the first customer has a fifth. */
export async function exerciseLetters(world: ChargingWorld): Promise<void> {
  const { charging, database, scope } = world;
  for (const middle of [{}, { startingAfter: seededId('flet', 100) }, { endingBefore: seededId('flet', 100) }]) {
    for (const filter of filters) await listLetters(database, scope, { limit: 10, ...middle }, { ...none, ...filter });
  }
  await dueLetters(database, new Date(), 10);
  await dueLettersOnClocks(database, 10);
  await nextDueLetter(database, new Date());
  await findValidLetters(database, scope, firstCustomer, [seededId('fprod', 1)], new Date());
  const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
  const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })];
  for (const verdict of ['approved', 'denied'] as const) {
    const paid = await world.session({ lines, customerId: hsa.customerId });
    await pay(world, paid, [hsa, credit]);
    await decideFirst(world, paid, verdict);
    const confirmed = await world.session({ lines, customerId: hsa.customerId });
    await world.confirm(confirmed, hsa);
    await decideFirst(world, confirmed, verdict);
  }
  const { credential } = await addReviewer(database, { name: 'Grace', license: 'A-1', state: 'NY' });
  await readReviewQueue(database, true, 10, { reviewUntil: new Date(0), letterId: '' });
  await readReviewQueue(database, false, 10);
  const keyring = openKeyring(`k1:${randomBytes(32).toString('base64')}`);
  const reviewed = await world.session({ lines, customerId: hsa.customerId });
  await pay(world, reviewed, [hsa, credit]);
  await submitLetterAnswers(charging, keyring, scope, reviewed.id, '{}');
  const [queued] = (await listLetters(database, scope, { limit: 1 }, { ...none, sessionId: reviewed.id })).letters;
  await openReview(charging, keyring, queued?.id ?? '', credential, 'freq_test');
  await decideByReviewer(charging, queued?.id ?? '', credential, 'denied');
  const { reviewer } = await addReviewer(database, { name: 'Ada', license: 'A-2', state: 'NY' });
  await revokeReviewer(database, reviewer.id);
  await listReviewers(database);
  const product = newId('product');
  const again = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity', product })];
  const first = await world.session({ lines: again, customerId: hsa.customerId });
  await pay(world, first, [hsa]);
  await decideFirst(world, first, 'approved');
  await world.session({ lines: again, customerId: hsa.customerId });
}

const none = { customerId: undefined, sessionId: undefined, status: undefined };
const filters: Partial<LetterFilter>[] = [
  {},
  { customerId: firstCustomer },
  { sessionId: seededId('fcs', 1) },
  { status: 'in_review' },
  { customerId: firstCustomer, status: 'approved' },
];

async function pay({ charging, scope }: ChargingWorld, { id }: Session, cards: PaymentMethod[]): Promise<void> {
  const paymentMethodIds = cards.map((card) => card.id);
  await completeSession(charging, scope, { sessionId: id, paymentMethodIds, shippingDetails: null });
}

async function decideFirst(world: ChargingWorld, { id }: Session, verdict: 'approved' | 'denied'): Promise<void> {
  const { charging, database, scope } = world;
  const { letters } = await listLetters(database, scope, { limit: 1 }, { ...none, sessionId: id });
  await decideLetter(charging, scope, letters[0]?.id ?? '', verdict);
}
