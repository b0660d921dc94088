import { appendEncoded, encodeEvent } from '@eligo/events';
import { claimFreshKeys, type Scope, type Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { refusalToConfirm } from '../domain/confirm-rules.ts';
import { minimumChargeCents } from '../domain/payment-plan.ts';
import { insertLockedAttempts } from '../store/charge-attempts.ts';
import { loadChargeFactsOfSeveral } from '../store/session-payments.ts';
import { lockSessions } from '../store/sessions.ts';
import { attemptAsCreated, newIntent } from './begin-attempt.ts';
import type { Claimed, GroupedClaim } from './charge-claim.ts';
import { type Claiming, confirmAttempt, ownersOf, type PlannedCharge, plannedCharge } from './claim-charge.ts';
import { intentEvent } from './payment-events.ts';

/**
 * Claims several charges that nothing stands in the way of: keys that nobody has used, open sessions without a live attempt, no refusal, and free
 * cards and customers. Undefined when that does not hold for one of them: the caller rolls back, and `claimCharge` decides about each.
 */
export async function claimCharges(
  claiming: Claiming,
  tx: Tx,
  scope: Scope,
  claims: readonly GroupedClaim[],
): Promise<Claimed[] | undefined> {
  const sessionIds = claims.map(({ request }) => request.sessionId);
  if (new Set(sessionIds).size < claims.length) return undefined;
  const fresh = claims.map(({ use }) => ({ use, attemptId: newId('charge_attempt') }));
  // The sessions first, as whoever settles or gives up a charge takes them before the key.
  const [sessions, areFresh, facts] = await Promise.all([
    lockSessions(tx, scope, sessionIds),
    claimFreshKeys(tx, scope, fresh, claiming.budgets.leaseMs),
    loadChargeFactsOfSeveral(
      tx,
      scope,
      claims.map(({ request }) => request),
    ),
  ]);
  await claiming.failpoint('confirm.key_claimed');
  if (!areFresh) return undefined;
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const charges: PlannedCharge[] = [];
  for (const [index, { request, turn }] of claims.entries()) {
    const session = byId.get(request.sessionId);
    const known = facts.get(request.sessionId);
    // A test clock is read one by one.
    if (session === undefined || known === undefined || known.hasLiveAttempts || session.testClockId !== null)
      return undefined;
    const at = claiming.clock.now();
    if (session.amountEligibleCents < minimumChargeCents) return undefined;
    if (refusalToConfirm({ session, facts: known, live: [], at, features: request.features }) !== undefined)
      return undefined;
    const charge = plannedCharge(fresh[index]?.attemptId ?? '', session, known, request.expand, at);
    if (!turn.isNext({ customerId: charge.customerId, paymentMethodId: charge.card.id })) return undefined;
    charges.push(charge);
  }
  const begun = charges.map((charge) => {
    const attempt = confirmAttempt(claiming, charge);
    const owners = ownersOf(charge.session);
    return { session: charge.session, attempt, owners, intent: newIntent(attempt, owners) };
  });
  const events = begun.map(({ attempt, intent }, index) => {
    const event = intentEvent(scope, 'payment_intent.created', intent, attempt.actingAt);
    return claims[index]?.inContext(() => encodeEvent(event)) ?? encodeEvent(event);
  });
  const [areLocked] = await Promise.all([insertLockedAttempts(tx, scope, begun), appendEncoded(tx, events)]);
  if (!areLocked) return undefined;
  await claiming.failpoint('confirm.before_claim_commit');
  return begun.map(({ session, attempt, intent }) => ({
    kind: 'attempt',
    attempt: attemptAsCreated(attempt),
    epoch: 1,
    claimed: { session, intent },
  }));
}
