import type { PageShop, PageView } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import type { CallOptions } from '@eligo/rpc';
import type { PageSubject, PageTokens, ServiceContext } from '@eligo/service';
import { findAccountOfPage } from '../accounts/find-account-of-page.ts';
import { findShop } from '../accounts/find-shop.ts';
import type { Exchange } from '../api.ts';
import { readBody } from '../http/read-body.ts';
import { writeJson } from '../http/write-answer.ts';
import type { Peers } from '../peers.ts';
import type { PageCalls } from './page-calls.ts';
import type { PageFiles } from './page-files.ts';
import type { PageLimits } from './page-limits.ts';
import { linkPrefix, visitLink } from './visit-link.ts';
import { writeAsset, writeDocument } from './write-file.ts';

const pagePrefix = '/pay/';

/** Whether the path belongs to a checkout page or a payment link, which take no API key. */
export function isShopperPath(path: string): boolean {
  return path.startsWith(pagePrefix) || path.startsWith(linkPrefix);
}

export interface CheckoutPageParts {
  readonly tokens: PageTokens;
  readonly linkTokens: PageTokens;
  readonly peers: Peers;
  readonly calls: PageCalls;
  readonly files: PageFiles;
  readonly limits: PageLimits;
  readonly database: Database;
  readonly sandboxUrl: string | undefined;
  readonly callerFor: ServiceContext['callerFor'];
}

/** What is typed on the page: addresses and identifiers. */
const mostBodyBytes = 16_384;

/**
 * Answers the requests of checkout pages: `/pay/{token}` is the document, `/pay/{token}/session`, `/pay` and `/cancel` are its calls, and
 * `/pay/assets/…` its scripts and styles. `/buy/{token}` is a payment link. A token stands in place of a key, for one record; what is no token
 * opens nothing.
 */
export function checkoutPage(parts: CheckoutPageParts): (exchange: Exchange, path: string) => Promise<void> {
  const { tokens, limits } = parts;
  return async (exchange, path) => {
    const isLink = path.startsWith(linkPrefix);
    const [first = '', second, ...more] = path.slice((isLink ? linkPrefix : pagePrefix).length).split('/');
    limits.takeFromAddress(exchange.request, 'request');
    if (first === 'assets' && second !== undefined && more.length === 0) return serveAsset(parts, exchange, second);
    if (isLink) return serveLink(parts, exchange, second === undefined ? first : '');
    const subject = tokens.subjectOf(first);
    if (second === undefined) return serveDocument(parts, exchange, subject);
    if (subject === undefined || more.length > 0) throw new Failure('checkout_session_not_found');
    limits.takeFromSession(subject.id, 'request');
    const answer = await answerCall(parts, exchange, subject, second);
    writeJson(exchange.response, 200, JSON.stringify(answer), exchange.requestId, exchange.headers);
  };
}

async function serveLink(parts: CheckoutPageParts, exchange: Exchange, token: string): Promise<void> {
  allow(exchange, ['GET'], 'page.link');
  const status = await visitLink({ ...parts, tokens: parts.linkTokens }, exchange, token);
  // The document of a page without a session says so in the visitor's language.
  if (status !== undefined) await writePage(parts, exchange, status, undefined);
}

async function answerCall(
  { calls, limits, callerFor, database }: CheckoutPageParts,
  exchange: Exchange,
  subject: PageSubject,
  action: string,
): Promise<PageView> {
  const { request, requestId, traceparent } = exchange;
  const { accountId, testMode } = subject;
  // What a payment depends on: which cards the account may charge in live mode.
  const account = action === 'pay' ? await findAccountOfPage(database, accountId) : undefined;
  const scopes = ['checkout_sessions_read', 'checkout_sessions_write'];
  const caller = callerFor({ accountId, testMode, ...account?.caller, scopes });
  const call: CallOptions = { caller, requestId, traceparent };
  switch (action) {
    case 'session':
      allow(exchange, ['GET', 'HEAD'], 'page.session');
      return calls.view(subject, call);
    case 'pay':
      allow(exchange, ['POST'], 'page.pay');
      limits.takeFromAddress(request, 'payment');
      limits.takeFromSession(subject.id, 'payment');
      return calls.pay(subject, await readBody(request, mostBodyBytes), call);
    case 'cancel':
      allow(exchange, ['POST'], 'page.cancel');
      await readBody(request, mostBodyBytes);
      return calls.cancel(subject, call);
    default:
      throw new Failure('not_found');
  }
}

// The document says that there is no such session in the shopper's language; its status says it to machines.
async function serveDocument(
  parts: CheckoutPageParts,
  exchange: Exchange,
  subject: PageSubject | undefined,
): Promise<void> {
  allow(exchange, ['GET', 'HEAD'], 'page.document');
  const shop = subject && (await findShop(parts.database, subject.accountId));
  await writePage(parts, exchange, shop === undefined ? 404 : 200, shop);
}

async function writePage(
  { files, sandboxUrl }: CheckoutPageParts,
  exchange: Exchange,
  status: number,
  shop: PageShop | undefined,
): Promise<void> {
  const origins = {
    frame: sandboxUrl === undefined ? undefined : new URL(sandboxUrl).origin,
    logo: shop?.logoUrl == null ? undefined : new URL(shop.logoUrl).origin,
  };
  writeDocument(exchange.response, status, await files.document(), exchange.requestId, origins);
}

async function serveAsset({ files }: CheckoutPageParts, exchange: Exchange, name: string): Promise<void> {
  allow(exchange, ['GET', 'HEAD'], 'page.asset');
  const file = await files.asset(name);
  if (file === undefined) throw new Failure('not_found');
  writeAsset(exchange.response, file, exchange.requestId);
}

function allow(exchange: Exchange, methods: readonly string[], routeId: string): void {
  exchange.routeId = routeId;
  if (methods.includes(exchange.request.method ?? '')) return;
  exchange.headers.push('Allow', methods.join(', '));
  throw new Failure('method_not_allowed');
}
