import { type Scope, withTx } from '@eligo/postgres';
import type { Search, SetupOutcome } from '@eligo/processor';
import type { Context } from '../context.ts';
import type { Customer } from '../domain/customer.ts';
import { isSettled, type SubscriptionSetUp } from '../domain/subscription-set-up.ts';
import { findCustomer, findProcessorCustomer } from '../store/customers.ts';
import { findPaymentMethod } from '../store/payment-methods.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { noteSetupIntent } from '../store/setup-intents.ts';
import { lockSetUp, moveSetUp, nameSetUp, takeNextSetUpTry } from '../store/subscription-set-ups.ts';
import { ensureProcessorCustomer } from './processor-customer.ts';
import { isOurOwnFault } from './processor-refusal.ts';
import { isStoredError } from './retry-past-stored-500.ts';
import { type SetUpCall, timeLeft } from './set-up-call.ts';
import { cancelSetUp, saveSetUpCard } from './settle-set-up.ts';

/** What became of the set-up of a subscription so far. */
export type SetUpResult =
  /** It waits for its customer, whose browser needs the secret. */
  | { readonly outcome: 'waits'; readonly clientSecret: string | undefined }
  | { readonly outcome: 'saved'; readonly paymentMethodId: string; readonly namedCardId: string | null }
  | { readonly outcome: 'over' };

/**
 * Goes on with the set-up of a subscription: has the processor make its set-up intent and confirm its card, learns what its customer did, and settles it. What the
 * browser says counts for nothing. With `giveUp`, once its time is over, and once its customer was deleted, it is canceled if it still waits. Each call is keyed, so that two processes, and a
 * repeat after a lost answer, make one set-up intent. Undefined while the processor does not say. The caller holds no transaction.
 */
export async function followSetUp(
  context: Context,
  scope: Scope,
  setUp: SubscriptionSetUp,
  giveUp: boolean,
): Promise<SetUpResult | undefined> {
  if (isSettled(setUp)) return resultOf(setUp);
  const port = context.processors.findAt(scope, setUp.processorAccount);
  const { isExpired } = setUp;
  // Without its processor, nothing can be set up any more.
  if (port === undefined && isExpired) return resultAfter(await cancelSetUp({ context, scope, setUp }));
  if (port === undefined) return giveUp ? { outcome: 'over' } : undefined;
  if (port.isDown()) return undefined;
  const deadlineMs = performance.now() + context.budgets.callMs;
  const call: SetUpCall = { context, scope, port, setUp, deadlineMs };
  const customer = await findCustomer(context.database, scope, setUp.customerId);
  const ends = giveUp || setUp.isGivenUp || isExpired || customer === undefined;
  const known = await ask(call, customer, ends);
  if (known === undefined) return undefined;
  switch (known.kind) {
    case 'succeeded':
      return resultAfter(await saveSetUpCard(call, known));
    case 'canceled':
      return resultAfter(await cancelSetUp(call));
    case 'rejected':
      // Of the card or the customer, which the processor does not take any more.
      return isOurOwnFault(known) && !isExpired ? undefined : resultAfter(await cancelSetUp(call));
    case 'unknown':
    case 'not_now':
      return undefined;
    default:
      // What the processor works on can no longer be canceled, and its outcome is not known yet.
      if (ends && known.kind === 'processing') return undefined;
      return { outcome: 'waits', clientSecret: await wait(call, known) };
  }
}

function resultAfter(setUp: SubscriptionSetUp | undefined): SetUpResult | undefined {
  return setUp && resultOf(setUp);
}

function resultOf({ status, savedCardId, namedCardId }: SubscriptionSetUp): SetUpResult {
  return status === 'saved' && savedCardId !== null
    ? { outcome: 'saved', paymentMethodId: savedCardId, namedCardId }
    : { outcome: 'over' };
}

async function ask(call: SetUpCall, customer: Customer | undefined, ends: boolean): Promise<SetupOutcome | undefined> {
  const { port, setUp } = call;
  const made = setUp.processorSetupIntentId ?? (await create(call, customer));
  if (typeof made !== 'string') return made;
  // One that was never confirmed is canceled without being confirmed.
  const isToConfirm = setUp.status === 'beginning' && setUp.namedCardId !== null && !ends;
  const known = isToConfirm ? await confirm(call, made) : await port.retrieveSetupIntent(made, timeLeft(call));
  return ends && known !== undefined && isWaiting(known) ? cancel(call, made) : known;
}

function isWaiting({ kind }: SetupOutcome): boolean {
  return kind === 'confirmable' || kind === 'requires_action' || kind === 'declined';
}

// How many answers of 500 that are stored under its keys one look passes by; the next look passes by more.
const mostKeys = 4;

// The name of the set-up intent at the processor, or why it has none. An answer that was lost is asked for again under the same key, with the same words: so the
// customer and the card are named as they were, whether or not they are still there.
async function create(call: SetUpCall, customer: Customer | undefined): Promise<string | SetupOutcome | undefined> {
  const { context, scope, port, setUp } = call;
  const owner =
    customer === undefined
      ? await findProcessorCustomer(context.database, scope, setUp.customerId)
      : await ensureProcessorCustomer(context, scope, customer);
  // Its customer was deleted before the processor knew of them, so it has nothing.
  if (owner === undefined) return { kind: 'rejected', status: 400, code: 'customer_deleted', param: undefined };
  const card = setUp.namedCardId && (await findPaymentMethod(context.database, scope, setUp.namedCardId));
  const input = {
    customer: owner,
    paymentMethod: card ? card.processorPaymentMethodId : undefined,
    metadata: { setup_intent: setUp.setupIntentId },
  };
  const made = await underKeys(call, 'create', {
    send: (options) => port.createSetupIntent(input, options),
    // A 500 does not say that nothing was made.
    look: () => port.findSetupIntent(owner, setUp.setupIntentId, timeLeft(call)),
  });
  // Nothing is confirmed yet: a card that is refused here is refused for good.
  if (made?.kind === 'declined') return { kind: 'rejected', status: 402, code: made.code, param: undefined };
  if (made === undefined || !('setupIntentId' in made)) return made;
  await context.failpoint('card_set_up.intent_created');
  await withTx(context.database, scope, (tx) => nameSetUp(tx, scope, setUp.subscriptionId, made.setupIntentId));
  await context.failpoint('card_set_up.intent_named');
  return made.setupIntentId;
}

async function namedCard({ context, scope, setUp }: SetUpCall): Promise<string | undefined> {
  if (setUp.namedCardId === null) return undefined;
  const [card] = await findChargeableCards(context.database, scope, [setUp.namedCardId]);
  return card?.processorPaymentMethodId;
}

// A repeat is answered as the first request was, whatever the customer did since. So what is not certain is read.
async function confirm(call: SetUpCall, id: string): Promise<SetupOutcome | undefined> {
  const { context, port } = call;
  const paymentMethod = await namedCard(call);
  if (paymentMethod === undefined) return port.retrieveSetupIntent(id, timeLeft(call));
  const confirmed = await underKeys(call, 'confirm', {
    send: (options) => port.confirmSetupIntent(id, { paymentMethod }, options),
  });
  await context.failpoint('card_set_up.confirmed');
  const isCertain = confirmed === undefined || confirmed.kind === 'succeeded' || confirmed.kind === 'not_now';
  return isCertain || confirmed.kind === 'unknown' ? confirmed : port.retrieveSetupIntent(id, timeLeft(call));
}

async function cancel(call: SetUpCall, id: string): Promise<SetupOutcome | undefined> {
  const { context, scope, port, setUp } = call;
  const canceled = await underKeys(call, 'cancel', { send: (options) => port.cancelSetupIntent(id, options) });
  await context.failpoint('card_set_up.canceled');
  if (canceled === undefined || canceled.kind !== 'rejected') return canceled;
  // Its customer was faster, or it is canceled already.
  const known = await port.retrieveSetupIntent(id, timeLeft(call));
  if (!isWaiting(known)) return known;
  // The processor was working on it, and is not any more. Under this key it repeats the refusal for a day.
  await withTx(context.database, scope, (tx) => takeNextSetUpTry(tx, scope, setUp.subscriptionId, setUp.tries));
  return undefined;
}

// As `retryPastStored500`, with the number of the key in the row: another process and a later look go on from it.
async function underKeys(
  call: SetUpCall,
  what: 'create' | 'confirm' | 'cancel',
  {
    send,
    look,
  }: {
    readonly send: (options: { idempotencyKey: string; timeoutMs: number }) => Promise<SetupOutcome>;
    /** Finds what a call that was answered with an error has made all the same. */
    readonly look?: () => Promise<Search<SetupOutcome>>;
  },
): Promise<SetupOutcome | undefined> {
  const { context, scope, setUp } = call;
  let { tries } = setUp;
  for (let passed = 0; passed < mostKeys; passed++) {
    const answer = await send({ idempotencyKey: `${setUp.setupIntentId}:${tries}:${what}`, ...timeLeft(call) });
    if (!isUsedUp(answer)) return answer;
    const found = await look?.();
    if (found !== undefined && found.kind !== 'none') return found;
    tries = await withTx(context.database, scope, (tx) => takeNextSetUpTry(tx, scope, setUp.subscriptionId, tries));
  }
  return undefined;
}

// A release with other parameters may have used the key, too.
function isUsedUp(answer: SetupOutcome): boolean {
  return isStoredError(answer) || (answer.kind === 'rejected' && answer.code === 'idempotency_error');
}

// The customer is to act: with the card of the subscription, or with another one.
async function wait(
  { context, scope, setUp }: SetUpCall,
  known: Exclude<SetupOutcome, { kind: 'rejected' | 'unknown' | 'not_now' }>,
): Promise<string | undefined> {
  await withTx(context.database, scope, async (tx) => {
    const before = setUp.status === 'beginning' ? await lockSetUp(tx, scope, setUp.subscriptionId) : undefined;
    if (before?.status === 'beginning') await moveSetUp(tx, scope, before, 'waiting', null);
    const status = known.kind === 'requires_action' ? 'processing' : 'requires_payment_method';
    await noteSetupIntent(tx, scope, setUp.setupIntentId, status);
    await context.failpoint('card_set_up.before_wait_commit');
  });
  await context.failpoint('card_set_up.waits');
  return known.clientSecret;
}
