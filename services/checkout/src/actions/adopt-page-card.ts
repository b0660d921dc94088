import { Failure } from '@eligo/failures';
import { isCheckViolation, type Scope, withTx } from '@eligo/postgres';
import type { PaymentMethodFacts, ProcessorPort } from '@eligo/processor';
import { newId, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { isConfirmationToken, type PaymentMethod } from '../domain/payment-method.ts';
import { tooManyTypedCards } from '../domain/typed-cards.ts';
import { countTypedCard, findPageCard, insertPageCard } from '../store/page-cards.ts';
import { insertPaymentMethod } from '../store/payment-methods.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { refusalOf } from './processor-refusal.ts';
import { storedCard } from './recognize-card.ts';

/** A card as the processor's own fields on the page of a session or of an invoice gave it. */
export interface GivenOnPage {
  readonly sessionId: string | null;
  readonly invoiceId?: string | null;
  /** Whose invoice it is. */
  readonly customerId?: string | null;
  readonly testClockId: string | null;
  /** The processor's identifier: `pm_…`, or of a confirmation token `ctoken_…`. */
  readonly processorPaymentMethodId: string;
  /** Where it stands in the request. */
  readonly loc: readonly string[];
  /** Whether it is kept for charges without the shopper. */
  readonly offSession: boolean;
}

/**
 * Makes a payment method of a card that the shopper typed into the processor's fields, and answers its id; for a card that this page has
 * given before, the same. A card that belongs to a customer, or was given on another page, is answered like one that does not exist: the
 * identifier of a stranger's card pays nothing. Throws `checkout_session_payment_tries_exceeded` once too many cards were typed on the page of the session.
 */
export async function adoptPageCard(context: Context, scope: Scope, given: GivenOnPage): Promise<string> {
  const { processorPaymentMethodId, sessionId, invoiceId = null } = given;
  const known = await findPageCard(context.database, scope, processorPaymentMethodId);
  if (known !== undefined) {
    if (known.sessionId !== sessionId || known.invoiceId !== invoiceId) throw notFound(given);
    return known.paymentMethodId;
  }
  const processor = context.processors.of(scope);
  // Nothing is asked, so nothing counts: an outage uses up no cards of a session.
  if (processor.isDown()) throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  if (sessionId !== null) await count(context, scope, sessionId);
  const found = await retrieveTypedCard(processor, processorPaymentMethodId);
  // The browser sent it: that the processor does not have it says nothing of our own objects.
  if (found.kind === 'rejected' && found.status === 404) throw notFound(given);
  if (found.kind !== 'found') throw refusalOf(found, () => notFound(given));
  if (!found.isUnused) throw notFound(given);
  const id = await writeCard(context, scope, given, found, processor.account);
  // Another request with the same card was faster.
  return id ?? adoptPageCard(context, scope, given);
}

// Before the call to the processor, so that an identifier that the processor does not know counts, too.
async function count({ database }: Context, scope: Scope, sessionId: string): Promise<void> {
  const isCounted = await withTx(database, scope, (tx) => countTypedCard(tx, scope, sessionId));
  if (!isCounted) throw tooManyTypedCards();
}

/** Reads a card at the processor. A card that another payment has used, or that a customer has, is none that was typed here. */
export async function retrieveTypedCard(processor: ProcessorPort, id: string) {
  if (isConfirmationToken(id)) {
    const token = await processor.retrieveConfirmationToken(id);
    return token.kind === 'found' ? { ...token, isUnused: !token.isUsed && token.confirmationTokenId === id } : token;
  }
  const method = await processor.retrievePaymentMethod(id);
  return method.kind === 'found'
    ? { ...method, isUnused: method.customerId === undefined && method.paymentMethodId === id }
    : method;
}

async function writeCard(
  context: Context,
  scope: Scope,
  given: GivenOnPage,
  found: Pick<PaymentMethodFacts, 'card' | 'billing'>,
  processorAccount: ProcessorAccount,
): Promise<string | undefined> {
  const { sessionId, invoiceId = null, customerId = null, testClockId, processorPaymentMethodId } = given;
  const method = await typedCard(context, scope, given, found, processorAccount, context.clock.now());
  const { id: paymentMethodId } = method;
  const card = { processorPaymentMethodId, sessionId, invoiceId, customerId, paymentMethodId };
  try {
    return await withTx(context.database, scope, async (tx) => {
      if (!(await insertPageCard(tx, scope, card))) return undefined;
      const createdAt = await timeOnClock(tx, scope, context.clock, testClockId);
      await insertPaymentMethod(tx, scope, { ...method, createdAt });
      return paymentMethodId;
    });
  } catch (error) {
    // The customer was deleted while the processor was asked about the card.
    if (isCheckViolation(error, 'no_card_for_a_deleted_customer')) throw new Failure('customer_not_found');
    throw error;
  }
}

/** The payment method that a typed card becomes. */
export async function typedCard(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  { processorPaymentMethodId, offSession }: GivenOnPage,
  { card, billing }: Pick<PaymentMethodFacts, 'card' | 'billing'>,
  processorAccount: ProcessorAccount,
  createdAt: Date,
): Promise<PaymentMethod> {
  return {
    id: newId('payment_method'),
    customerId: null,
    processorAccount,
    processorPaymentMethodId,
    processorCustomerId: null,
    offSession,
    card: await storedCard(database, scope, card),
    billingDetails: billing.name === undefined ? {} : { name: billing.name },
    metadata: {},
    createdAt,
    detachedAt: null,
    version: 1n,
  };
}

function notFound({ loc }: GivenOnPage): Failure {
  return Failure.invalid(loc, 'payment_method_not_found', 'payment_method_not_found');
}
