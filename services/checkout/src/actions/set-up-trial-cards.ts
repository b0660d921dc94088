import { type Db, type Scope, withTx } from '@eligo/postgres';
import { isSameAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { refuseSecondHealthCard } from '../domain/payment-plan.ts';
import type { Session } from '../domain/session.ts';
import { planTrialCards, type TrialRenewal, trialRenewalOf } from '../domain/trial-cards.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { findSetupIntent } from '../store/setup-intents.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { setUpSession } from './set-up-session.ts';
import { findCards, type ShopperPayment } from './shopper-cards.ts';

/** A payment whose cards are set up, or the session as it is because one of them was declined, or it has ended. */
export type TrialSetUp =
  | { readonly kind: 'set_up'; readonly payment: ShopperPayment; readonly cardIds: ReadonlySet<string> }
  | { readonly kind: 'refused'; readonly session: Session };

/**
 * Sets up the cards that a trial's first renewal is charged to, one after the other: the default card, then its backup. A repeat after a crash goes on with
 * the card that is not set up yet. A card that the renewal does not need stays the customer's and is not set up. Undefined where no trial begins: the cards
 * are charged at once.
 */
export async function setUpTrialCards(
  context: Context,
  scope: Scope,
  session: Session,
  asked: ShopperPayment,
): Promise<TrialSetUp | undefined> {
  const { database, clock } = context;
  if (session.mode !== 'subscription') return undefined;
  const at = await timeOnClock(database, scope, clock, session.testClockId);
  const renewal = await loadTrialRenewal(database, scope, session, at);
  if (renewal === undefined) return undefined;
  const refusal = refusalByStatus(session, at);
  if (refusal !== undefined) throw refusal;
  const payment = await withWaitingCard(context, scope, session, asked);
  const { cards } = await withTx(database, scope, (tx) => findCards(context, tx, scope, payment));
  const planned = planTrialCards(renewal, payment.refusesHealthCards !== true, cards);
  // Before a bank is asked. The card that was set up first, and waits for the other one, keeps its place.
  refuseSecondHealthCard(planned, cards);
  const standard = planned.kind === 'other_card_needed' ? undefined : planned.standard;
  const backup = planned.kind === 'keep' ? planned.backup : undefined;
  const cardIds = new Set<string>();
  const deadlineMs = performance.now() + context.budgets.callMs;
  for (const [role, card] of [
    ['standard', standard],
    ['backup', backup],
  ] as const) {
    if (card === undefined) continue;
    const answer = await setUpSession(context, scope, session, {
      ...{ paymentMethodId: card.paymentMethodId, role, deadlineMs, payment },
      slot: payment.slots?.[payment.paymentMethodIds.indexOf(card.paymentMethodId)],
    });
    if (!answer.isSetUp || answer.session.status !== 'open') return { kind: 'refused', session: answer.session };
    cardIds.add(card.paymentMethodId);
  }
  return { kind: 'set_up', payment, cardIds };
}

/** The first renewal after the trial that a session begins with at `at`; undefined where none begins. */
export async function loadTrialRenewal(
  db: Db,
  scope: Scope,
  session: Session,
  at: Date,
): Promise<TrialRenewal | undefined> {
  if (session.mode !== 'subscription') return undefined;
  return trialRenewalOf(session, await loadSessionLines(db, scope, session.id), at);
}

// While a session waits for a second card, the health card that it has set up counts as given, after those given now, as long as it can be charged.
async function withWaitingCard(
  { database, processors }: Context,
  scope: Scope,
  session: Session,
  payment: ShopperPayment,
): Promise<ShopperPayment> {
  if (session.nextAction?.type !== 'provide_second_payment_method' || session.setupIntentId === null) return payment;
  const waiting = await findSetupIntent(database, scope, session.setupIntentId);
  const id = waiting?.status === 'succeeded' ? waiting.paymentMethodId : null;
  if (id === null || payment.paymentMethodIds.includes(id)) return payment;
  const [card] = await findChargeableCards(database, scope, [id]);
  const isHere = card?.processorAccount != null && isSameAccount(card.processorAccount, processors.of(scope).account);
  if (!isHere) return payment;
  return { ...payment, paymentMethodIds: [...payment.paymentMethodIds, id] };
}
