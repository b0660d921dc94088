import { type Scope, withTx } from '@eligo/postgres';
import type { Charging } from '../charging.ts';
import type { Session } from '../domain/session.ts';
import { findPaymentMethod } from '../store/payment-methods.ts';
import { loadSession, lockSession, saveSession } from '../store/sessions.ts';
import { attachPaymentMethod } from './attach-payment-method.ts';
import { makeCustomer } from './create-customer.ts';

/**
 * The customer whom a session's card is kept for, because it is set up or renewed with later; null where it pays this once. `card` is what the
 * shopper gave: a payment method's id or a test card's name.
 */
export async function cardKeeper(
  charging: Charging,
  scope: Scope,
  sessionId: string,
  card: string | undefined,
): Promise<string | null> {
  const session = await loadSession(charging.database, scope, sessionId);
  if (session?.status !== 'open') return null;
  const isKept = session.mode === 'setup' || session.mode === 'subscription' || session.setupFutureUse !== null;
  if (isKept && session.customerId === null) {
    return card === undefined ? null : newKeeper(charging, scope, session, card);
  }
  return isKept ? session.customerId : null;
}

/** Attaches a card without an owner to the customer it is kept for; the processor charges it later for that customer only. */
export async function keepCard(charging: Charging, scope: Scope, id: string, customerId: string): Promise<void> {
  const method = await findPaymentMethod(charging.database, scope, id);
  if (method === undefined || method.customerId !== null || method.detachedAt !== null) return;
  await attachPaymentMethod(charging, scope, id, customerId);
}

// A shopper without an account becomes a customer, by what the shop said of them. A card's own customer goes before: it is taken with the card.
async function newKeeper(charging: Charging, scope: Scope, { id }: Session, card: string): Promise<string | null> {
  const method = await findPaymentMethod(charging.database, scope, card);
  if (method !== undefined && method.customerId !== null) return null;
  return withTx(charging.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, id);
    if (session?.status !== 'open' || session.customerId !== null) return session?.customerId ?? null;
    const { firstName = null, lastName = null, phone = null, email = null } = session.details.defaults ?? {};
    const given = { firstName, lastName, phone, email: session.customerEmail ?? email, employer: null, shipping: null };
    const terms = { ...given, metadata: {}, testClockId: session.testClockId };
    const { customerId } = await makeCustomer(tx, scope, terms, charging.clock.now());
    await saveSession(tx, scope, session, { ...session, customerId });
    return customerId;
  });
}
