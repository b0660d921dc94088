import { type Tx, withTx } from '@eligo/postgres';
import { firstTurn } from '@eligo/service';
import { seededId, vacuumDeleted } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { captureSession } from '../src/actions/capture-session.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import { setUpSubscription } from '../src/actions/set-up-subscription.ts';
import { keepOffSession } from '../src/store/payment-methods.ts';
import {
  checkSetUpNow,
  claimSetUp,
  dueSetUps,
  giveUpSetUp,
  nextSetUpInMs,
  setUpTurns,
  takeNextSetUpTry,
} from '../src/store/subscription-set-ups.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { keyHash } from './growth-seed.ts';
import { pay } from './pay.ts';

/** Runs every statement of payments with cards that were typed on the page, and of a capture of one card. */
export async function exercisePagePayments(fixture: ChargingFixture): Promise<void> {
  const { context, scope } = fixture;
  const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
  const tokens = { hsa: 'tok_hsa', visa: 'tok_visa' };
  for (const second of [undefined, tokens.visa]) {
    const session = await fixture.session({ lines });
    const paid = await completeWithCards(context, scope, {
      ...{ sessionId: session.id, shippingDetails: null, refusesHealthCards: false, onPage: true },
      paymentMethod: await fixture.confirmationToken(second === undefined ? tokens.visa : tokens.hsa),
      slot: second === undefined ? 'other' : 'health',
      secondPaymentMethod: second && (await fixture.confirmationToken(second)),
      secondSlot: 'other',
    });
    if (paid.status !== 'complete') throw new Error(`the session is ${paid.status}`);
  }
  const held = await fixture.session({ lines, captureMethod: 'manual' });
  await pay(fixture, held, [await fixture.card('credit')]);
  const order = { instruction: { entries: [], isFinal: false }, metadata: {} };
  await captureSession(context, scope, held.id, { ...order, key: { key: 'key of one card', requestHash: keyHash } });
}

/** Runs every statement of a set-up whose bank asks the shopper. */
export async function exerciseSetUps(fixture: ChargingFixture): Promise<void> {
  const { context, scope } = fixture;
  const { customerId } = await fixture.card('credit');
  const asked = await fixture.session({ mode: 'setup', lines: [], customerId });
  await completeWithCards(context, scope, {
    ...{ sessionId: asked.id, paymentMethod: await fixture.confirmationToken('tok_authenticationRequired') },
    ...{ secondPaymentMethod: undefined, onPage: true, shippingDetails: null, refusesHealthCards: false },
  });
  await resumeAuthentication(context, scope, asked.id, true);
}

/** Runs every statement of the set-ups of subscriptions. */
export async function exerciseSubscriptionSetUps(fixture: ChargingFixture): Promise<void> {
  const { context, database, scope, test } = fixture;
  const looks = async () => {
    await setUpTurns(database, firstTurn, 3);
    await setUpTurns(database, scope, 3);
    await dueSetUps(database, scope, 4);
    await nextSetUpInMs(database);
  };
  // Behind a backlog, while few are due, and while none is.
  await looks();
  const later =
    "update checkout.subscription_set_ups set next_check_at = now() + interval '1 hour' where status in ('beginning', 'waiting')";
  await test.admin(`${later} and subscription_id <> $1`, [seededId('fsub', 10)]);
  // What the update left behind is read until it is removed.
  await vacuumDeleted(test, ['checkout.subscription_set_ups']);
  await looks();
  const within = (work: (tx: Tx) => Promise<unknown>) => withTx(database, scope, work);
  await within((tx) => claimSetUp(tx, scope, seededId('fsub', 10)));
  await looks();
  await within((tx) => checkSetUpNow(tx, scope, seededId('seti', 10)));
  await within((tx) => takeNextSetUpTry(tx, scope, seededId('fsub', 10), 0));
  await within((tx) => giveUpSetUp(tx, scope, seededId('fsub', 10), null));
  for (const name of [undefined, 'credit', 'authentication_required']) {
    const { id, customerId } = await fixture.card(name ?? 'credit');
    const of = { subscriptionId: newId('subscription'), customerId, expiresInMs: 1_000_000 };
    const paymentMethodId = name === undefined ? null : id;
    await setUpSubscription(context, scope, { ...of, paymentMethodId, giveUp: false });
    await setUpSubscription(context, scope, { ...of, paymentMethodId, giveUp: true });
    await within((tx) => keepOffSession(tx, scope, id, { customerId, processorCustomerId: undefined }));
  }
}
