import { withTx } from '@eligo/postgres';
import { firstTurn } from '@eligo/service';
import { cents } from '@eligo/values';
import { completeSession } from '../src/actions/complete-session.ts';
import { followHold } from '../src/actions/follow-hold.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { recordKeptCard } from '../src/store/hold-renewals.ts';
import {
  countCapturedElsewhere,
  dueHolds,
  holdTurns,
  nextHoldInMs,
  recordCapturedElsewhere,
} from '../src/store/holds.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

/** Runs every statement of holds that lapse: for one that lasts, for one that is gone, and for those of a letter that is reviewed for longer. */
export async function exerciseHolds(fixture: ChargingFixture): Promise<void> {
  const { context, database, scope } = fixture;
  // While none is due, while few are, and behind a backlog.
  for (const at of [new Date(-1), new Date('2026-06-01T00:00:00Z'), new Date('2999-01-01T00:00:00Z')]) {
    await holdTurns(database, at, firstTurn, 3);
    await holdTurns(database, at, scope, 3);
    await dueHolds(database, scope, at, 4);
  }
  await nextHoldInMs(database, new Date());
  await countCapturedElsewhere(database);
  const cards = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  for (const isGone of [false, true]) {
    const session = await fixture.mixedSession(cards[0], { captureMethod: 'manual' });
    const paymentMethodIds = cards.map(({ id }) => id);
    const paid = await completeSession(context, scope, {
      sessionId: session.id,
      paymentMethodIds,
      shippingDetails: null,
    });
    if (isGone) await fixture.cancelAtProcessor(paid, 'health');
    for (const id of paid.paymentIntentIds) {
      await fixture.test.admin("update checkout.payment_intents set hold_check_at = '2000-01-01' where id = $1", [id]);
      await followHold(context, scope, id);
    }
  }
  await announceHold(fixture, cards[1]);
  await renewHolds(fixture, cards[0]);
}

// One that lapses within a day.
async function announceHold(fixture: ChargingFixture, card: PaymentMethod): Promise<void> {
  const { context, scope, clock } = fixture;
  const now = clock.now();
  const session = await fixture.session({ captureMethod: 'manual' });
  const { paymentIntentIds } = await completeSession(context, scope, {
    ...{ sessionId: session.id, paymentMethodIds: [card.id], shippingDetails: null },
  });
  clock.set(new Date(Date.now() + 6.5 * 86_400_000));
  for (const id of paymentIntentIds) await followHold(context, scope, id);
  clock.set(now);
}

// One that is renewed, and one that is not again.
async function renewHolds(fixture: ChargingFixture, card: PaymentMethod & { customerId: string }): Promise<void> {
  const { context, scope, clock, test } = fixture;
  const now = clock.now();
  clock.set(new Date());
  const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })];
  const session = await fixture.session({ lines, customerId: card.customerId });
  const paid = await completeSession(context, scope, {
    sessionId: session.id,
    paymentMethodIds: [card.id],
    shippingDetails: null,
  });
  clock.set(new Date(Date.now() + 6 * 86_400_000));
  const look = async () => {
    const rows = await test.admin<{ id: string }>(
      "update checkout.payment_intents set hold_check_at = '2000-01-01' where session_id = $1 and status = 'requires_capture' returning id",
      [paid.id],
    );
    for (const { id } of rows) await followHold(context, scope, id);
  };
  await look();
  await sweepCharges(context);
  const elsewhere = { amountCents: cents(3_000), again: clock.now() };
  for (const id of paid.paymentIntentIds) {
    await withTx(fixture.database, scope, (tx) => recordCapturedElsewhere(tx, scope, id, elsewhere));
    await withTx(fixture.database, scope, (tx) => recordKeptCard(tx, scope, id));
  }
  await test.admin('update checkout.payment_intents set renewals = 12 where session_id = $1', [paid.id]);
  clock.set(new Date(Date.now() + 4 * 86_400_000));
  await look();
  clock.set(now);
}
