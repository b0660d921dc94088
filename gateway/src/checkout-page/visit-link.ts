import { Failure } from '@eligo/failures';
import type { PageSubject, PageTokens, ServiceContext } from '@eligo/service';
import type { AccountOf } from '../accounts/find-account-of-page.ts';
import type { Exchange } from '../api.ts';
import { moneyCall } from '../http/call-budget.ts';
import type { Peers } from '../peers.ts';
import { openedRecord } from './opened-record.ts';
import type { PageLimits } from './page-limits.ts';

export interface LinkParts {
  readonly tokens: PageTokens;
  readonly peers: Peers;
  readonly limits: PageLimits;
  readonly accountOf: AccountOf;
  readonly callerFor: ServiceContext['callerFor'];
}

/**
 * Opens a session of the payment link whose token this is, and sends the visitor to its page (decisions 14.85). Returns the status of a link that
 * opens none: 404 where there is no such link, 410 where it is inactive.
 */
export async function visitLink(parts: LinkParts, exchange: Exchange, token: string): Promise<404 | 410 | undefined> {
  const { tokens, limits } = parts;
  // Each visit writes a session: an address has as many visits as payments.
  limits.takeFromAddress(exchange.request, 'payment');
  const subject = openedRecord(tokens, token, exchange);
  if (subject === undefined) return 404;
  const url = await openSession(parts, exchange, subject);
  if (typeof url === 'number') return url;
  exchange.response.writeHead(303, [
    ...['Location', url, 'Content-Length', '0', 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    ...['X-Content-Type-Options', 'nosniff', 'Request-Id', exchange.requestId],
  ]);
  exchange.response.end();
  return undefined;
}

async function openSession(
  { peers, accountOf, callerFor }: LinkParts,
  { requestId, traceparent }: Exchange,
  subject: PageSubject,
): Promise<string | 404 | 410> {
  const { accountId, testMode, id } = subject;
  const account = await accountOf(subject);
  if (account === undefined) return 404;
  const caller = callerFor({ accountId, testMode, ...account.caller, scopes: ['checkout_sessions_write'] });
  const { receiptMerchantName } = account;
  const request = receiptMerchantName === undefined ? { id } : { id, receiptMerchantName };
  try {
    const session = await peers.checkout.visitPaymentLink(request, moneyCall({ caller, requestId, traceparent }));
    if (session.redirectUrl === undefined) throw new Error(`Session ${session.checkoutSessionId} has no page`);
    return session.redirectUrl;
  } catch (error) {
    const code = error instanceof Failure ? error.code : undefined;
    if (code === 'payment_link_not_found') return 404;
    if (code === 'payment_link_inactive') return 410;
    throw error;
  }
}
