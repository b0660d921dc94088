import type { Scope } from '@eligo/postgres';
import type { Charging } from '../charging.ts';
import { findPaymentMethod } from '../store/payment-methods.ts';
import { loadSession } from '../store/sessions.ts';
import { attachPaymentMethod } from './attach-payment-method.ts';

/** The customer whom a session's card is kept for, because it is set up or renewed with later; null where it pays this once. */
export async function cardKeeper({ database }: Charging, scope: Scope, sessionId: string): Promise<string | null> {
  const session = await loadSession(database, scope, sessionId);
  if (session?.status !== 'open') return null;
  const isKept = session.mode === 'setup' || session.mode === 'subscription' || session.setupFutureUse !== null;
  return isKept ? session.customerId : null;
}

/** Gives a card that is nobody's to the customer whom it is kept for; the processor charges it later for that customer only. */
export async function keepCard(charging: Charging, scope: Scope, id: string, customerId: string): Promise<void> {
  const method = await findPaymentMethod(charging.database, scope, id);
  if (method === undefined || method.customerId !== null || method.detachedAt !== null) return;
  await attachPaymentMethod(charging, scope, id, customerId);
}
