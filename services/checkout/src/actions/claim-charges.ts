import { appendEncoded, encodeEvent } from '@eligo/events';
import { claimFreshKeys, type Scope, type Tx } from '@eligo/postgres';
import { isSameAccount, minimumChargeCents, newId } from '@eligo/values';
import { refusalToConfirm } from '../domain/confirm-rules.ts';
import { isChargedWhole } from '../domain/session.ts';
import { insertLockedAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { type ChargeFacts, loadChargeFactsOfSeveral } from '../store/session-payments.ts';
import { lockSessions } from '../store/sessions.ts';
import { attemptAsCreated, newIntent } from './begin-attempt.ts';
import type { Claimed, ConfirmRequest, GroupedClaim } from './charge-claim.ts';
import {
  type Claiming,
  confirmAttempt,
  ownersOf,
  type PlannedCharge,
  partiesOf,
  plannedCharge,
} from './claim-charge.ts';
import { intentEvent } from './payment-events.ts';

/**
 * Claims several plain charges together: unused keys, open sessions without a live attempt, no refusal, and cards and customers that no other payment
 * has locked. Returns undefined if one of them is not plain: the caller rolls back, and `claimCharge` decides each one.
 */
export async function claimCharges(
  claiming: Claiming,
  tx: Tx,
  scope: Scope,
  claims: readonly GroupedClaim[],
): Promise<Claimed[] | undefined> {
  const sessionIds = claims.map(({ request }) => request.sessionId);
  if (new Set(sessionIds).size < claims.length) return undefined;
  const fresh = claims.map((claim) => ({ ...claim, attemptId: newId('charge_attempt') }));
  // The sessions first, as every process that settles or abandons a charge takes them before the key.
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
  const begun = [];
  for (const { request, turn, attemptId, inContext, ofNewMoney } of fresh) {
    const session = byId.get(request.sessionId);
    const known = facts.get(request.sessionId);
    if (session === undefined || known === undefined) return undefined;
    const attempt = plainAttempt(claiming, { attemptId, session, facts: known, ofNewMoney }, request);
    if (attempt === undefined || !turn.isNext(partiesOf(attempt))) return undefined;
    const owners = ownersOf(session);
    const intent = newIntent(attempt, owners);
    const event = inContext(() => encodeEvent(intentEvent(scope, 'payment_intent.created', intent, attempt.actingAt)));
    begun.push({ session, attempt, owners, intent, event });
  }
  const events = begun.map(({ event }) => event);
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

// Undefined when `claimCharge` must decide: a refusal to store, an earlier attempt, nothing to charge, a test clock.
function plainAttempt(
  claiming: Claiming,
  { session, facts, ...charge }: Pick<PlannedCharge, 'attemptId' | 'session' | 'ofNewMoney'> & { facts: ChargeFacts },
  { features, refusesHealthCards, expand }: ConfirmRequest,
): NewAttempt | undefined {
  if (refusesHealthCards || facts.hasLiveAttempts || session.testClockId !== null) return undefined;
  // Whether its hold was released is looked up alone.
  if (isChargedWhole(session)) return undefined;
  if (session.amountEligibleCents < minimumChargeCents) return undefined;
  const at = claiming.clock.now();
  if (refusalToConfirm({ session, facts, live: [], at, features }) !== undefined) return undefined;
  const card = facts.paymentMethod?.processorAccount ?? null;
  if (card !== null && !isSameAccount(card, charge.ofNewMoney)) return undefined;
  return confirmAttempt(claiming, plannedCharge({ ...charge, session, facts, expand, at }));
}
