import { type Scope, withTx } from '@eligo/postgres';
import type { SetupOutcome } from '@eligo/processor';
import type { Context } from '../context.ts';
import { isSettled, type SubscriptionSetUp } from '../domain/subscription-set-up.ts';
import { findCustomer } from '../store/customers.ts';
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
  const isDeleted = (await findCustomer(context.database, scope, setUp.customerId)) === undefined;
  // What nobody has a secret of can be confirmed by nobody, if it was made at all.
  if (isDeleted && setUp.processorSetupIntentId === null) return resultAfter(await cancelSetUp(call));
  const ends = giveUp || setUp.isGivenUp || isExpired || isDeleted;
  const known = await ask(call, ends);
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

async function ask(call: SetUpCall, ends: boolean): Promise<SetupOutcome | undefined> {
  const { port, setUp } = call;
  const made = setUp.processorSetupIntentId ?? (await create(call));
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

// The name of the set-up intent at the processor, or why it has none. An answer that was lost is asked for again under the same key.
async function create(call: SetUpCall): Promise<string | SetupOutcome | undefined> {
  const { context, scope, port, setUp } = call;
  const customer = await findCustomer(context.database, scope, setUp.customerId);
  if (customer === undefined) return undefined;
  const processorCustomerId = await ensureProcessorCustomer(context, scope, customer);
  const card = await namedCard(call);
  const input = { customer: processorCustomerId, paymentMethod: card };
  const made = await underKeys(call, 'create', (options) => port.createSetupIntent(input, options));
  // Nothing is confirmed yet: a card that is refused here is refused for good.
  if (made?.kind === 'declined') return { kind: 'rejected', status: 402, code: made.code, param: undefined };
  if (made === undefined || !('setupIntentId' in made)) return made;
  await withTx(context.database, scope, (tx) => nameSetUp(tx, scope, setUp.subscriptionId, made.setupIntentId));
  return made.setupIntentId;
}

async function namedCard({ context, scope, setUp }: SetUpCall): Promise<string | undefined> {
  if (setUp.namedCardId === null) return undefined;
  const [card] = await findChargeableCards(context.database, scope, [setUp.namedCardId]);
  return card?.processorPaymentMethodId;
}

// A repeat is answered as the first request was, whatever the customer did since. So what is not certain is read.
async function confirm(call: SetUpCall, id: string): Promise<SetupOutcome | undefined> {
  const { port } = call;
  const paymentMethod = await namedCard(call);
  if (paymentMethod === undefined) return port.retrieveSetupIntent(id, timeLeft(call));
  const confirmed = await underKeys(call, 'confirm', (options) =>
    port.confirmSetupIntent(id, { paymentMethod }, options),
  );
  const isCertain = confirmed === undefined || confirmed.kind === 'succeeded' || confirmed.kind === 'not_now';
  return isCertain || confirmed.kind === 'unknown' ? confirmed : port.retrieveSetupIntent(id, timeLeft(call));
}

async function cancel(call: SetUpCall, id: string): Promise<SetupOutcome | undefined> {
  const { port } = call;
  const canceled = await underKeys(call, 'cancel', (options) => port.cancelSetupIntent(id, options));
  if (canceled === undefined || canceled.kind !== 'rejected') return canceled;
  // Its customer was faster, or it is canceled already.
  const known = await port.retrieveSetupIntent(id, timeLeft(call));
  return isWaiting(known) ? undefined : known;
}

// As `retryPastStored500`, with the number of the key in the row: another process and a later look go on from it.
async function underKeys(
  call: SetUpCall,
  what: 'create' | 'confirm' | 'cancel',
  send: (options: { idempotencyKey: string; timeoutMs: number }) => Promise<SetupOutcome>,
): Promise<SetupOutcome | undefined> {
  const { context, scope, setUp } = call;
  let { tries } = setUp;
  for (let passed = 0; passed < mostKeys; passed++) {
    const answer = await send({ idempotencyKey: `${setUp.setupIntentId}:${tries}:${what}`, ...timeLeft(call) });
    if (!isStoredError(answer)) return answer;
    tries = await withTx(context.database, scope, (tx) => takeNextSetUpTry(tx, scope, setUp.subscriptionId, tries));
  }
  return undefined;
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
  });
  return known.clientSecret;
}
