import type { IncomingMessage } from 'node:http';
import type { PageShop, PageView } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { PageSubject, PageTokens, ServiceContext } from '@eligo/service';
import type { AccountOf, AccountOfPage } from '../accounts/find-account-of-page.ts';
import type { Exchange } from '../api.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import { type PublicRoute, readMethods } from '../http/public-router.ts';
import { readBody } from '../http/read-body.ts';
import { isExpected } from '../http/to-failure.ts';
import { refusalHeaders, writeJson } from '../http/write-answer.ts';
import type { Peers } from '../peers.ts';
import { invoicePdf } from '../reports/invoice-pdf.ts';
import type { ReadInvoiceDocument } from '../reports/read-invoice-document.ts';
import type { RequestTurns } from '../turns/request-turns.ts';
import { openedRecord } from './opened-record.ts';
import type { OpenPage, PageCalls, SessionPageCalls } from './page-calls.ts';
import type { PageFiles } from './page-files.ts';
import type { PageLimits, PagePayments } from './page-limits.ts';
import { visitLink } from './visit-link.ts';
import { callPreload, type PageOrigins, stripePreload, writeAsset, writeDocument } from './write-file.ts';
import { firstViewHtml, showsCardFields } from './write-first-view.ts';
import { writeInvoiceHtml, writeInvoicePdf } from './write-invoice-document.ts';

export interface CheckoutPageParts {
  readonly tokens: PageTokens;
  readonly linkTokens: PageTokens;
  readonly invoiceTokens: PageTokens;
  readonly readInvoice: ReadInvoiceDocument;
  readonly peers: Peers;
  readonly calls: SessionPageCalls;
  readonly invoiceCalls: PageCalls;
  readonly files: PageFiles;
  readonly limits: PageLimits;
  readonly bodies: BodyBudget;
  readonly turns: Pick<RequestTurns, 'onPage' | 'expensiveOnPage'>;
  readonly accountOf: AccountOf;
  readonly sandboxUrl: string | undefined;
  readonly callerFor: ServiceContext['callerFor'];
}

/** What is typed on the page: addresses and identifiers. */
const mostBodyBytes = 16_384;

/**
 * The requests of checkout pages: `/pay/{token}` is the document, the paths below it are its calls, and `/pay/assets/…` its scripts and
 * styles. The payment page of an invoice has the same below `/invoice/`, and its documents. `/buy/{token}` is a payment link, whose refusals are that document. A token stands in place of a key,
 * for one record; an invalid token opens nothing.
 */
export function checkoutPageRoutes(parts: CheckoutPageParts): PublicRoute[] {
  const { tokens, invoiceTokens, calls, invoiceCalls } = parts;
  return [
    // Only a GET: each visit opens a session.
    documentRoute(parts, 'page.link', '/buy/{:token}', ['GET'], (exchange, { token = '' }) =>
      visitLink({ ...parts, tokens: parts.linkTokens }, exchange, token),
    ),
    assetRoute(parts, 'page.link_asset', '/buy'),
    ...routesOf(parts, {
      ...{ id: 'page', path: '/pay', tokens, calls, missing: 'checkout_session_not_found' },
      actions: [...paymentActions, ...sessionActions],
    }),
    ...routesOf(parts, {
      ...{ id: 'invoice_page', path: '/invoice', tokens: invoiceTokens, calls: invoiceCalls },
      ...{ missing: 'invoice_not_found', actions: paymentActions },
    }),
    assetRoute(parts, 'invoice_page.document_asset', '/invoice/:token'),
    ...(['html', 'pdf'] as const).map((format) =>
      documentRoute(
        parts,
        `invoice_page.${format}`,
        `/invoice/:token/document.${format}`,
        readMethods,
        (exchange, { token = '' }) => serveInvoice(parts, exchange, token, format),
      ),
    ),
  ];
}

/** The page of one kind of record. */
interface PageOf<Calls> {
  readonly id: string;
  readonly path: string;
  readonly tokens: PageTokens;
  readonly calls: Calls;
  readonly actions: readonly PageAction<Calls>[];
  /** What a request is answered whose token opens nothing. */
  readonly missing: 'checkout_session_not_found' | 'invoice_not_found';
}

function routesOf<Calls extends PageCalls>(parts: CheckoutPageParts, page: PageOf<Calls>): PublicRoute[] {
  const { id, path, tokens, calls, actions, missing } = page;
  return [
    assetRoute(parts, `${id}.asset`, path),
    documentRoute(parts, `${id}.document`, `${path}/{:token}`, readMethods, async (exchange, { token = '' }) => {
      const subject = openedRecord(tokens, token, exchange);
      const isThere = subject !== undefined && (await serveDocument(parts, exchange, token, subject, calls));
      if (!isThere) throw new Failure(missing);
    }),
    ...actions.map((action) =>
      route(parts, `${id}.${action.name}`, `${path}/:token/${action.name}`, action.methods, async (exchange, given) => {
        const subject = openedRecord(tokens, given.token ?? '', exchange);
        const answer = subject && (await answerCall(parts, exchange, subject, calls, action));
        if (answer === undefined) throw new Failure(missing);
        writeJson(exchange.response, 200, JSON.stringify(answer), exchange.requestId, exchange.headers);
      }),
    ),
  ];
}

function route(
  { limits }: CheckoutPageParts,
  id: string,
  path: string,
  methods: PublicRoute['methods'],
  serve: PublicRoute['serve'],
): PublicRoute {
  return {
    ...{ id, path, methods },
    serve(exchange, params) {
      limits.takeFromAddress(exchange.request, 'request');
      return serve(exchange, params);
    },
  };
}

// A shopper reads what a page or a document is refused with: in their language, and not as JSON.
function documentRoute(
  parts: CheckoutPageParts,
  id: string,
  path: string,
  methods: PublicRoute['methods'],
  serve: PublicRoute['serve'],
): PublicRoute {
  const limited = route(parts, id, path, methods, serve);
  return {
    ...limited,
    serve(exchange, params) {
      exchange.writeRefusal = (failure) => writeRefusal(parts, exchange, failure);
      return limited.serve(exchange, params);
    },
  };
}

function assetRoute(parts: CheckoutPageParts, id: string, path: string): PublicRoute {
  return route(parts, id, `${path}/assets/:name`, readMethods, (exchange, { name = '' }) =>
    serveAsset(parts, exchange, name),
  );
}

/** A call of the page's script. */
interface PageAction<Calls> {
  readonly name: string;
  readonly methods: PublicRoute['methods'];
  /** The limit that it counts towards beside that of all requests. */
  readonly limit: 'payment' | 'answers' | 'promoCode' | undefined;
  answer(calls: Calls, page: OpenPage, body: unknown, payments: PagePayments): Promise<PageView>;
}

const paymentActions: readonly PageAction<PageCalls>[] = [
  {
    ...{ name: 'session', methods: readMethods, limit: undefined },
    answer: (calls, page, _body, payments) => calls.view(page, payments),
  },
  {
    ...{ name: 'pay', methods: ['POST'], limit: 'payment' },
    answer: (calls, page, body, payments) => payments.pay(() => calls.pay(page, body)),
  },
  {
    ...{ name: 'authenticate', methods: ['POST'], limit: 'payment' },
    answer: (calls, page, body, payments) => payments.resume(() => calls.authenticate(page, body)),
  },
];

const sessionActions: readonly PageAction<SessionPageCalls>[] = [
  {
    ...{ name: 'letter', methods: ['POST'], limit: 'answers' },
    answer: (calls, page, body) => calls.answerLetter(page, body),
  },
  {
    ...{ name: 'promo-code', methods: ['POST'], limit: 'promoCode' },
    answer: (calls, page, body) => calls.changePromoCode(page, body),
  },
  { ...{ name: 'cancel', methods: ['POST'], limit: undefined }, answer: (calls, page) => calls.cancel(page) },
];

async function serveInvoice(
  { invoiceTokens, limits, callerFor, readInvoice, turns }: CheckoutPageParts,
  exchange: Exchange,
  token: string,
  format: 'html' | 'pdf',
): Promise<void> {
  const subject = openedRecord(invoiceTokens, token, exchange);
  if (subject === undefined) throw new Failure('invoice_not_found');
  const { accountId, testMode, id } = subject;
  limits.takeFromSession(id, 'request');
  const { requestId, traceparent } = exchange;
  const caller = callerFor({ accountId, testMode, scopes: ['invoices_read'] });
  if (format === 'pdf') {
    limits.takeFromAddress(exchange.request, 'document');
    limits.takeFromSession(id, 'document');
  }
  const document = await turns.onPage(subject, () => readInvoice(accountId, id, { caller, requestId, traceparent }));
  if (format === 'html') return writeInvoiceHtml(exchange, document);
  const pdf = await turns.expensiveOnPage(subject, () => invoicePdf(document));
  await writeInvoicePdf(exchange, id, pdf);
}

// Undefined where the page's account is gone.
async function answerCall<Calls>(
  { limits, bodies, turns, callerFor, accountOf }: CheckoutPageParts,
  { request, requestId, traceparent }: Exchange,
  subject: PageSubject,
  calls: Calls,
  { methods, limit, answer }: PageAction<Calls>,
): Promise<PageView | undefined> {
  const { accountId, testMode } = subject;
  limits.takeFromSession(subject.id, 'request');
  if (limit !== undefined) {
    limits.takeFromAddress(request, limit);
    limits.takeFromSession(subject.id, limit);
  }
  // The account does not count as waiting while the body arrives.
  const body = methods.includes('POST') ? await readPageBody(request, bodies, accountId) : undefined;
  const arrivedAtMs = performance.now();
  const payments = limits.paymentsOf(request, subject);
  return turns.onPage(subject, async () => {
    const account = await accountOf(subject);
    if (account === undefined) return undefined;
    // With which cards the account may charge in live mode: the page shows them, and a payment goes by them.
    const scopes = ['checkout_sessions_read', 'checkout_sessions_write'];
    const caller = callerFor({ accountId, testMode, ...account.caller, scopes });
    const page = { subject, shop: account.shop, call: { caller, requestId, traceparent }, arrivedAtMs };
    return answer(calls, page, body, payments);
  });
}

// A page's body is small and parsed at once: nothing of its bytes is kept.
async function readPageBody(request: IncomingMessage, bodies: BodyBudget, accountId: string): Promise<unknown> {
  const room = bodies.room(accountId, () => request.destroy());
  try {
    return await readBody(request, room, { mostBytes: mostBodyBytes });
  } finally {
    room.release();
  }
}

// False where the page's account is gone.
async function serveDocument(
  parts: CheckoutPageParts,
  exchange: Exchange,
  token: string,
  subject: PageSubject,
  calls: PageCalls,
): Promise<boolean> {
  const account = await parts.accountOf(subject);
  if (account === undefined) return false;
  const { shop } = account;
  const view = await lookForDocument(parts, exchange, subject, account, calls);
  // Beside the document, whatever path a proxy puts before it.
  await writePage(parts, exchange, { shop, view, isLive: !subject.testMode, sessionPath: `${token}/session` });
  return true;
}

/** After this time the document is served without its session, and the page's script asks for it. */
const lookTimeoutMs = 1_000;

// Undefined where the page's script has to ask, which says what is wrong and asks again.
async function lookForDocument(
  { limits, turns, callerFor }: CheckoutPageParts,
  { request, requestId, traceparent }: Exchange,
  subject: PageSubject,
  { shop, caller: granted }: AccountOfPage,
  calls: PageCalls,
): Promise<PageView | undefined> {
  if (request.method === 'HEAD' || !limits.allowsLook(subject.id)) return undefined;
  const { accountId, testMode } = subject;
  const caller = callerFor({ accountId, testMode, ...granted, scopes: ['checkout_sessions_read'] });
  const call = { caller, requestId, traceparent, timeoutMs: lookTimeoutMs };
  try {
    return await turns.onPage(subject, () => calls.look({ subject, shop, call, arrivedAtMs: performance.now() }));
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

interface PageParts {
  readonly shop: PageShop;
  readonly view: PageView | undefined;
  readonly isLive: boolean;
  readonly sessionPath: string;
}

async function writePage(
  { files, sandboxUrl }: CheckoutPageParts,
  exchange: Exchange,
  { shop, view, isLive, sessionPath }: PageParts,
): Promise<void> {
  const showsStripe = isLive && shop.publishableKey != null;
  const origins = {
    frame: sandboxUrl === undefined || showsStripe ? undefined : new URL(sandboxUrl).origin,
    logo: shop.logoUrl == null ? undefined : new URL(shop.logoUrl).origin,
    stripe: showsStripe,
  };
  const file = view === undefined ? files.document() : files.documentWith(firstViewHtml(view, exchange.request));
  const preloads = [
    ...(view === undefined ? [callPreload(sessionPath)] : []),
    ...(showsStripe && view !== undefined && showsCardFields(view) ? [stripePreload] : []),
  ];
  writeDocument(exchange.response, 200, await file, exchange.requestId, { origins, preloads });
}

async function writeRefusal({ files }: CheckoutPageParts, exchange: Exchange, failure: Failure): Promise<void> {
  const headers = [...exchange.headers, ...refusalHeaders(failure)];
  const file = await files.refusalDocument(failure.code);
  writeDocument(exchange.response, failure.status, file, exchange.requestId, { origins: noOrigins, headers });
}

const noOrigins: PageOrigins = { frame: undefined, logo: undefined, stripe: false };

async function serveAsset({ files }: CheckoutPageParts, exchange: Exchange, name: string): Promise<void> {
  const file = await files.asset(name);
  if (file === undefined) throw new Failure('not_found');
  writeAsset(exchange.response, file, exchange.requestId);
}
