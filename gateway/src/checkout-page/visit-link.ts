import { Failure } from '@eligo/failures';
import type { PageSubject, PageTokens, ServiceContext } from '@eligo/service';
import type { AccountOf } from '../accounts/find-account-of-page.ts';
import type { Exchange } from '../api.ts';
import { moneyCall } from '../http/call-budget.ts';
import type { Peers } from '../peers.ts';
import type { RequestTurns } from '../turns/request-turns.ts';
import { openedRecord } from './opened-record.ts';
import type { PageLimits } from './page-limits.ts';

export interface LinkParts {
  readonly tokens: PageTokens;
  readonly peers: Peers;
  readonly limits: PageLimits;
  readonly turns: Pick<RequestTurns, 'onPage'>;
  readonly accountOf: AccountOf;
  readonly callerFor: ServiceContext['callerFor'];
}

/**
 * Opens a session of the payment link whose token this is, and sends the visitor to its page (decisions 14.85). Throws `payment_link_not_found`
 * or `payment_link_inactive` for a link that opens none.
 */
export async function visitLink(parts: LinkParts, exchange: Exchange, token: string): Promise<void> {
  const { tokens, limits, turns } = parts;
  // Each visit writes a session: an address has as many visits as payments.
  limits.takeFromAddress(exchange.request, 'payment');
  const subject = openedRecord(tokens, token, exchange);
  if (subject === undefined) throw new Failure('payment_link_not_found');
  const url = await turns.onPage(subject, () => openSession(parts, exchange, subject));
  exchange.response.writeHead(303, [
    ...['Location', url, 'Content-Length', '0', 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    ...['X-Content-Type-Options', 'nosniff', 'Request-Id', exchange.requestId],
  ]);
  exchange.response.end();
}

async function openSession(
  { peers, accountOf, callerFor }: LinkParts,
  { requestId, traceparent }: Exchange,
  subject: PageSubject,
): Promise<string> {
  const { accountId, testMode, id } = subject;
  const account = await accountOf(subject);
  if (account === undefined) throw new Failure('payment_link_not_found');
  const caller = callerFor({ accountId, testMode, ...account.caller, scopes: ['checkout_sessions_write'] });
  const { receiptMerchantName } = account;
  const request = receiptMerchantName === undefined ? { id } : { id, receiptMerchantName };
  const session = await peers.checkout.visitPaymentLink(request, moneyCall({ caller, requestId, traceparent }));
  if (session.redirectUrl === undefined) throw new Error(`Session ${session.checkoutSessionId} has no page`);
  return session.redirectUrl;
}
