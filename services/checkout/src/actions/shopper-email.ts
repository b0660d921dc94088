import { type Db, type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { findCustomer } from '../store/customers.ts';
import { loadSession } from '../store/sessions.ts';
import { recordShopperEmail } from '../store/shopper-emails.ts';

/**
 * Whether the page of a session asks its shopper for an e-mail address: a receipt is mailed, or a subscription begins for a shopper without a customer record, and
 * neither the shop nor the customer record has an address. An address that the shopper typed before can be corrected until the session is paid.
 */
export async function asksForEmail(db: Db, scope: Scope, session: Session): Promise<boolean> {
  const { status, mode, customerId, customerEmail, amountTotalCents, details } = session;
  if (status !== 'open' || mode === 'setup') return false;
  const isMailed = details.receiptMerchantName !== undefined && amountTotalCents > 0;
  // A customer is made of the shopper: a renewal that a bank asks to confirm is mailed to it.
  const isMailedLater = mode === 'subscription' && customerId === null;
  if (!isMailed && !isMailedLater) return false;
  const isGiven = customerEmail !== null && details.emailFromShopper === undefined;
  if (isGiven || details.defaults?.email) return false;
  return customerId === null || !(await findCustomer(db, scope, customerId))?.email;
}

/** Keeps the e-mail address that a shopper typed on the page of an open session, if the page asks for one. The caller holds no transaction. */
export async function keepShopperEmail(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  sessionId: string,
  email: string,
): Promise<void> {
  const session = await loadSession(database, scope, sessionId);
  if (session === undefined || session.customerEmail === email) return;
  if (!(await asksForEmail(database, scope, session))) return;
  await withTx(database, scope, (tx) => recordShopperEmail(tx, scope, sessionId, email));
}
