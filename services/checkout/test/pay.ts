import { completeSession } from '../src/actions/complete-session.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** Pays a session with these cards, as its shopper does on the page. */
export const pay = ({ context, scope }: ChargingFixture, session: Session, cards: readonly { id: string }[]) =>
  completeSession(context, scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
  });

/** What was charged for a session, the smallest amount first. */
export const chargesByAmount = async ({ charges }: ChargingFixture, session: Session) =>
  (await charges(session))
    .map(({ amount, amount_captured, status }) => ({ amount, captured: amount_captured, status }))
    .sort((a, b) => a.amount - b.amount);

/** Has all that is unsettled be due and sweeps it, so many times, as the job does from second to second. */
export async function sweepRounds({ context, lapseLeases }: ChargingFixture, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await lapseLeases();
    await sweepCharges(context);
  }
}
