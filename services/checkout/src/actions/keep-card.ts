import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { isConfirmationToken } from '../domain/payment-method.ts';
import { type Session, takesHealthCards } from '../domain/session.ts';
import { findCustomer } from '../store/customers.ts';
import { findPaymentMethod, lockPaymentMethod, savePaymentMethodOwner } from '../store/payment-methods.ts';
import { loadSession, lockSession, saveSession } from '../store/sessions.ts';
import { markCustomerFromShopper } from '../store/shopper-emails.ts';
import { findTestClock } from '../store/test-clocks.ts';
import { attachPaymentMethod } from './attach-payment-method.ts';
import { makeCustomer } from './create-customer.ts';
import { ensureProcessorCustomer } from './processor-customer.ts';

/**
 * The customer whom a session's card is kept for, because it is set up or renewed with later; null where it pays this once. `card` is what the
 * shopper gave: a payment method's id or a test card's name. One that was typed on the page (`isTyped`) is kept for the review of a letter, too, which may outlast its
 * hold.
 */
export async function cardKeeper(
  context: Context,
  scope: Scope,
  sessionId: string,
  card: string | undefined,
  isTyped = false,
): Promise<string | null> {
  const session = await loadSession(context.database, scope, sessionId);
  if (session?.status !== 'open') return null;
  const isReviewed = isTyped && session.letterRequired && takesHealthCards(session);
  const isKept = keepsCards(session) || isReviewed;
  if (isKept && session.customerId === null) {
    return card === undefined ? null : newKeeper(context, scope, session, card);
  }
  return isKept ? session.customerId : null;
}

/** Whether a session keeps its cards for a customer, who is made if it has none and its first card has none. */
export function keepsCards({ mode, setupFutureUse }: Session): boolean {
  return mode === 'setup' || mode === 'subscription' || setupFutureUse !== null;
}

/**
 * Attaches a card without an owner to the customer it is kept for; the processor charges it later for that customer only. A card that is still a
 * confirmation token is attached by the payment or the set-up that uses it.
 */
export async function keepCard(context: Context, scope: Scope, id: string, customerId: string): Promise<void> {
  const method = await findPaymentMethod(context.database, scope, id);
  if (method === undefined || method.customerId !== null || method.detachedAt !== null) return;
  if (!isConfirmationToken(method.processorPaymentMethodId)) {
    await attachPaymentMethod(context, scope, id, customerId);
  } else if (method.processorCustomerId === null) {
    await nameKeeper(context, scope, id, customerId);
  }
}

async function nameKeeper(context: Context, scope: Scope, id: string, customerId: string): Promise<void> {
  const customer = await findCustomer(context.database, scope, customerId);
  if (customer === undefined) throw new Failure('customer_not_found');
  const processorCustomerId = await ensureProcessorCustomer(context, scope, customer);
  await withTx(context.database, scope, async (tx) => {
    const method = await lockPaymentMethod(tx, scope, id);
    if (method === undefined || method.processorCustomerId !== null) return;
    await savePaymentMethodOwner(tx, scope, method, { customerId: null, processorCustomerId, detachedAt: null });
  });
}

// A shopper without an account becomes a customer, by what the shop said of them. A card's own customer goes before: it is taken with the card.
async function newKeeper(context: Context, scope: Scope, { id }: Session, card: string): Promise<string | null> {
  const method = await findPaymentMethod(context.database, scope, card);
  if (method !== undefined && method.customerId !== null) return null;
  return withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, id);
    if (session?.status !== 'open' || session.customerId !== null) return session?.customerId ?? null;
    const { firstName = null, lastName = null, phone = null, email = null } = session.details.defaults ?? {};
    const given = { firstName, lastName, phone, email: session.customerEmail ?? email, employer: null, shipping: null };
    const { testClockId } = session;
    const isOnClock = testClockId !== null && (await findTestClock(tx, scope, testClockId)) !== undefined;
    const terms = { ...given, metadata: {}, testClockId: isOnClock ? testClockId : null };
    const { customerId } = await makeCustomer(tx, scope, terms, context.clock.now());
    await saveSession(tx, scope, session, { ...session, customerId });
    await markCustomerFromShopper(tx, scope, id);
    return customerId;
  });
}
