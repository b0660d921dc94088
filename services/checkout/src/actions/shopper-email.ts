import { type Db, type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { findCustomer } from '../store/customers.ts';
import { loadSession, lockSession } from '../store/sessions.ts';
import { recordShopperEmail } from '../store/shopper-emails.ts';
import { changeCustomer } from './update-customer.ts';

/**
 * Whether the page of a session asks its shopper for an e-mail address: a receipt is mailed, or a subscription begins for a shopper without a customer record, and
 * neither the shop nor the customer record has an address. An address that the shopper typed before can be corrected until the session is paid, also after a payment
 * has made a customer with it and was declined.
 */
export async function asksForEmail(db: Db, scope: Scope, session: Session): Promise<boolean> {
  const { status, mode, customerId, customerEmail, amountTotalCents, details } = session;
  if (status !== 'open' || mode === 'setup') return false;
  const isMailed = details.receiptMerchantName !== undefined && amountTotalCents > 0;
  // A customer is made of the shopper: a renewal that a bank asks to confirm is mailed to it.
  const isMailedLater = mode === 'subscription' && (customerId === null || details.customerFromShopper === true);
  if (!isMailed && !isMailedLater) return false;
  const isGiven = customerEmail !== null && details.emailFromShopper === undefined;
  if (isGiven || details.defaults?.email) return false;
  if (customerId === null) return true;
  const email = (await findCustomer(db, scope, customerId))?.email;
  return !email || (details.customerFromShopper === true && email === customerEmail);
}

/**
 * Keeps the e-mail address that a shopper typed on the page of an open session, if the page asks for one. A customer that was made of the shopper has it, too, unless
 * the shop has changed the customer's address since. The caller holds no transaction.
 */
export async function keepShopperEmail(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  sessionId: string,
  email: string,
): Promise<void> {
  const found = await loadSession(database, scope, sessionId);
  if (found === undefined || found.customerEmail === email) return;
  if (!(await asksForEmail(database, scope, found))) return;
  await withTx(database, scope, async (tx) => {
    const session = await lockSession(tx, scope, sessionId);
    if (session === undefined || !(await asksForEmail(tx, scope, session))) return;
    await recordShopperEmail(tx, scope, sessionId, email);
    const { customerId, customerEmail, details } = session;
    if (customerId === null || details.customerFromShopper === undefined) return;
    const customer = await findCustomer(tx, scope, customerId);
    if (customer?.email === customerEmail) await changeCustomer({ clock }, tx, scope, customerId, { email });
  });
}
