import { seededId } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { addReviewer, listReviewers, revokeReviewer } from '../src/actions/add-reviewer.ts';
import { announceLetterEnd } from '../src/actions/announce-letter-end.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { noteWaitingShopper } from '../src/actions/go-on-without-letters.ts';
import { readSubstantiation } from '../src/actions/read-substantiation.ts';
import { decideByReviewer, openReview } from '../src/actions/review-letter.ts';
import { submitLetterAnswers } from '../src/actions/submit-letter-answers.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { dueLetters, dueLettersOnClocks, nextDueLetter } from '../src/store/due-letters.ts';
import { hasUnansweredLetter } from '../src/store/letter-answers.ts';
import { findValidLetters, type LetterFilter, lettersOfSession, listLetters } from '../src/store/letters.ts';
import {
  lettersToAnnounce,
  lettersToAnnounceOnClocks,
  nextLetterToAnnounce,
} from '../src/store/letters-to-announce.ts';
import { readReviewQueue } from '../src/store/review-queue.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

const firstCustomer = seededId('fcus', 1);

/** Runs every statement of letters, for new records and for seeded ones, of which the first customer has a fifth. */
export async function exerciseLetters(fixture: ChargingFixture): Promise<void> {
  const { context, database, scope } = fixture;
  for (const middle of [{}, { startingAfter: seededId('flet', 100) }, { endingBefore: seededId('flet', 100) }]) {
    for (const filter of filters) await listLetters(database, scope, { limit: 10, ...middle }, { ...none, ...filter });
  }
  await dueLetters(database, new Date(), 10);
  await readSubstantiation(database, scope, seededId('fcs', 150));
  await lettersOfSession(database, scope, seededId('fcs', 150));
  await dueLettersOnClocks(database, 10);
  await nextDueLetter(database, new Date());
  await exerciseEnds(fixture);
  await findValidLetters(database, scope, firstCustomer, [seededId('fprod', 1)], new Date());
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })];
  for (const verdict of ['approved', 'denied'] as const) {
    const paid = await fixture.session({ lines, customerId: hsa.customerId });
    await pay(fixture, paid, [hsa, credit]);
    await decideFirst(fixture, paid, verdict);
    const confirmed = await fixture.session({ lines, customerId: hsa.customerId });
    await fixture.confirm(confirmed, hsa);
    await decideFirst(fixture, confirmed, verdict);
  }
  const waited = await fixture.session({ lines, customerId: hsa.customerId });
  await pay(fixture, waited, [hsa, credit]);
  await noteWaitingShopper(context, scope, waited.id);
  await decideFirst(fixture, waited, 'denied');
  const { credential } = await addReviewer(database, { name: 'Grace', license: 'A-1', state: 'NY' });
  await readReviewQueue(database, true, 10, { reviewUntil: new Date(0), letterId: '' });
  await readReviewQueue(database, false, 10);
  const reviewed = await fixture.session({ lines, customerId: hsa.customerId });
  await pay(fixture, reviewed, [hsa, credit]);
  await hasUnansweredLetter(database, scope, reviewed.id);
  await submitLetterAnswers(context, scope, reviewed.id, '{}');
  const [queued] = (await listLetters(database, scope, { limit: 1 }, { ...none, sessionId: reviewed.id })).letters;
  await openReview(context, queued?.id ?? '', credential, 'freq_test');
  await decideByReviewer(context, queued?.id ?? '', credential, 'denied');
  const { reviewer } = await addReviewer(database, { name: 'Ada', license: 'A-2', state: 'NY' });
  await revokeReviewer(database, reviewer.id);
  await listReviewers(database);
  const product = newId('product');
  const again = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity', product })];
  const first = await fixture.session({ lines: again, customerId: hsa.customerId });
  await pay(fixture, first, [hsa]);
  await decideFirst(fixture, first, 'approved');
  await fixture.session({ lines: again, customerId: hsa.customerId });
}

const none = { customerId: undefined, sessionId: undefined, status: undefined };
const filters: Partial<LetterFilter>[] = [
  {},
  { customerId: firstCustomer },
  { sessionId: seededId('fcs', 1) },
  { status: 'in_review' },
  { customerId: firstCustomer, status: 'approved' },
];

async function pay({ context, scope }: ChargingFixture, { id }: Session, cards: PaymentMethod[]): Promise<void> {
  const paymentMethodIds = cards.map((card) => card.id);
  await completeSession(context, scope, { sessionId: id, paymentMethodIds, shippingDetails: null });
}

async function decideFirst(fixture: ChargingFixture, { id }: Session, verdict: 'approved' | 'denied'): Promise<void> {
  const { context, database, scope } = fixture;
  const { letters } = await listLetters(database, scope, { limit: 1 }, { ...none, sessionId: id });
  await decideLetter(context, scope, letters[0]?.id ?? '', verdict);
}

// The seeded letters end in a year: seen from a day eleven months ahead, all of them are due.
async function exerciseEnds(fixture: ChargingFixture): Promise<void> {
  const { database, scope } = fixture;
  const ahead = new Date(Date.now() + 340 * 86_400_000);
  const now = fixture.clock.now();
  fixture.clock.set(ahead);
  const [first] = await lettersToAnnounce(database, ahead, 10);
  await lettersToAnnounceOnClocks(database, 10);
  await nextLetterToAnnounce(database, new Date());
  await announceLetterEnd(fixture.context, scope, first?.letterId ?? '');
  await announceLetterEnd(fixture.context, scope, seededId('flet', 5));
  fixture.clock.set(now);
}
