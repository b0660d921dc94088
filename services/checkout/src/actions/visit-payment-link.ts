import { Failure } from '@eligo/failures';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { paymentLinkTerms } from '../messages/payment-link.ts';
import { findPaymentLink } from '../store/payment-links.ts';
import { createSession } from './create-session.ts';
import { sessionRequestOfLink } from './payment-link-session.ts';

/**
 * Opens a session of a payment link for one visitor. Throws `payment_link_not_found`, or `payment_link_inactive` where the partner has
 * deactivated the link or what it sells is not for sale any more.
 */
export async function visitPaymentLink(
  context: Context,
  call: Call,
  id: string,
  receiptMerchantName?: string,
): Promise<Session> {
  const link = await findPaymentLink(context.database, call.scope, id);
  if (link === undefined) throw new Failure('payment_link_not_found');
  if (!link.active) throw new Failure('payment_link_inactive');
  try {
    const request = sessionRequestOfLink(link, paymentLinkTerms(link), receiptMerchantName);
    return await createSession(context, call, request);
  } catch (error) {
    // A price or a shipping rate of the link was archived: the visitor cannot correct that.
    if (error instanceof Failure && error.code === 'validation_error') {
      throw new Failure('payment_link_inactive', { cause: error });
    }
    throw error;
  }
}
