import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { PaymentMethodFacts, Rejected, SetupFacts } from '@eligo/processor';
import { CardSetUpSchema } from '@eligo/proto/events/v1/events';
import { newId, present } from '@eligo/values';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { isSettled, type SubscriptionSetUp } from '../domain/subscription-set-up.ts';
import { findCustomer, lockCustomer } from '../store/customers.ts';
import { findByProcessorId, insertPaymentMethod, keepOffSession, recordAgreement } from '../store/payment-methods.ts';
import { markSetUp, noteSetupIntent } from '../store/setup-intents.ts';
import { lockSetUp, moveSetUp } from '../store/subscription-set-ups.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { isOurOwnFault } from './processor-refusal.ts';
import { storedCard } from './recognize-card.ts';
import { type SetUpCall, timeLeft } from './set-up-call.ts';

/**
 * Records that the card of a subscription was set up: the card that its customer gave becomes a payment method of theirs, and billing is told by a command, all in
 * one transaction. Billing is not told of a card that needed no customer: nothing of the subscription changes. A card that cannot be kept, and one of a customer who was
 * deleted, ends the set-up as canceled, because asking again would not change it. Undefined while the processor does not tell the card.
 */
export async function saveSetUpCard(call: SetUpCall, facts: SetupFacts): Promise<SubscriptionSetUp | undefined> {
  const { context, scope, port, setUp } = call;
  const { paymentMethodId: cardId } = facts;
  if (cardId === undefined) throw new Error(`Set-up ${setUp.setupIntentId} saved a card without a name`);
  const known = await findByProcessorId(context.database, scope, cardId);
  const found = known === undefined ? await port.retrievePaymentMethod(cardId, timeLeft(call)) : undefined;
  if (found?.kind === 'rejected' && (isGone(found) || setUp.isExpired)) return cancelSetUp(call);
  if (found !== undefined && found.kind !== 'found') return undefined;
  const made = found && (await methodOf(call, found, facts));
  const settled = await withTx(context.database, scope, async (tx) => {
    const before = await lockSetUp(tx, scope, setUp.subscriptionId);
    // Another process has settled it.
    if (before === undefined || isSettled(before)) return before;
    // Locked, so that the customer is not deleted before this commits.
    if ((await lockCustomer(tx, scope, before.customerId)) === undefined) return moveToCanceled(tx, scope, before);
    const id = await keep(tx, scope, before, known, made, facts);
    if (id === undefined) return moveToCanceled(tx, scope, before);
    if (facts.agreement !== undefined) await recordAgreement(tx, scope, id, facts.agreement);
    await markSetUp(tx, scope, before.setupIntentId, id);
    const saved = await moveSetUp(tx, scope, before, 'saved', id);
    if (before.status === 'waiting') await appendCardSetUp(context.clock.now(), tx, scope, saved, id);
    await context.failpoint('card_set_up.before_save_commit');
    return saved;
  });
  await context.failpoint('card_set_up.saved');
  return settled;
}

/** Records that a set-up was canceled, unless another process has settled it. */
export async function cancelSetUp({
  context,
  scope,
  setUp,
}: Pick<SetUpCall, 'context' | 'scope' | 'setUp'>): Promise<SubscriptionSetUp | undefined> {
  const settled = await withTx(context.database, scope, async (tx) => {
    const before = await lockSetUp(tx, scope, setUp.subscriptionId);
    if (before === undefined || isSettled(before)) return before;
    const canceled = await moveToCanceled(tx, scope, before);
    await context.failpoint('card_set_up.before_end_commit');
    return canceled;
  });
  await context.failpoint('card_set_up.ended');
  return settled;
}

async function moveToCanceled(tx: Tx, scope: Scope, setUp: SubscriptionSetUp): Promise<SubscriptionSetUp> {
  await noteSetupIntent(tx, scope, setUp.setupIntentId, 'canceled');
  return moveSetUp(tx, scope, setUp, 'canceled', null);
}

// The processor told the set-up intent a moment ago: a 404 is the card's, and not of a wrong account.
function isGone(refusal: Rejected): boolean {
  return refusal.status === 404 || !isOurOwnFault(refusal);
}

async function methodOf(
  { context, scope, setUp }: SetUpCall,
  { paymentMethodId, card, billing }: PaymentMethodFacts,
  { customerId: processorCustomerId }: SetupFacts,
): Promise<PaymentMethod> {
  const customer = await findCustomer(context.database, scope, setUp.customerId);
  return {
    id: newId('payment_method'),
    customerId: setUp.customerId,
    processorAccount: setUp.processorAccount,
    processorPaymentMethodId: paymentMethodId,
    processorCustomerId: processorCustomerId ?? null,
    offSession: true,
    card: await storedCard(context.database, scope, card),
    billingDetails: billing.name === undefined ? {} : { name: billing.name },
    metadata: {},
    createdAt: await timeOnClock(context.database, scope, context.clock, customer?.testClockId ?? null),
    detachedAt: null,
    version: 1n,
  };
}

// The id of the payment method. Undefined for a card that was detached or is another customer's: it stays so.
async function keep(
  tx: Tx,
  scope: Scope,
  { customerId, namedCardId }: SubscriptionSetUp,
  known: PaymentMethod | undefined,
  made: PaymentMethod | undefined,
  { customerId: processorCustomerId }: SetupFacts,
): Promise<string | undefined> {
  if (made !== undefined) {
    await insertPaymentMethod(tx, scope, made);
    return made.id;
  }
  if (known === undefined) return undefined;
  if (known.id === namedCardId) return known.id;
  return (await keepOffSession(tx, scope, known.id, { customerId, processorCustomerId })) ? known.id : undefined;
}

async function appendCardSetUp(
  at: Date,
  tx: Tx,
  scope: Scope,
  { setupIntentId, subscriptionId, namedCardId }: SubscriptionSetUp,
  paymentMethodId: string,
): Promise<void> {
  const ids = { setupIntentId, subscriptionId, paymentMethodId };
  const value = create(CardSetUpSchema, { ...ids, ...present({ namedPaymentMethodId: namedCardId }) });
  await append(tx, {
    ...{ ...scope, type: 'command.card.set_up', aggregateId: setupIntentId, at },
    object: { case: 'cardSetUp', value },
  });
}
