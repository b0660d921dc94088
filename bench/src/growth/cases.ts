import { randomUUID } from 'node:crypto';
import { allRoutes, fieldNamesOf, type JsonObject, type Route } from '@eligo/contract';
import { type ExampleReferences, exampleBody, exampleContent, type SeededRecords } from '@eligo/gateway/probes';
import type { IdKind } from '@eligo/values';
import { requestText } from '../requests.ts';
import { bodies, idIn, type MadeRecord, madeBy } from './made-records.ts';
import { copyOf } from './multiply.ts';

/** One thing that is done over and over on either account: an operation, or a list by one of its filters. */
export interface GrowthCase {
  /** The route's id, and for a filter its name behind it. */
  readonly name: string;
  /** Over so many connections at most. */
  readonly connections?: number | undefined;
  /** What makes a record for each request, where the request ends what it is about; those behind the first are about what it made. */
  readonly makes: readonly GrowthRequest[];
  readonly request: GrowthRequest;
}

/** The text of a request about the nth copy of the template; about the record of this id, and with these references, where they are given. */
export type GrowthRequest = (about: {
  readonly records: GrowthRecords;
  readonly copy: number;
  readonly id?: string | undefined;
  /** The record that the step before has answered. */
  readonly made?: MadeRecord | undefined;
  readonly fields?: Partial<ExampleReferences> | undefined;
}) => string;

/** What requests refer to: the records of which an account's others are copies. */
export interface GrowthRecords extends SeededRecords {
  readonly apiKey: string;
  readonly paidSession: string;
  /** Of so many copies everything that belongs together is there. */
  readonly copies: number;
}

/** Why a route has no row. Whatever is neither here nor measured is an error. */
export const notMeasured: Readonly<Record<string, string>> = {
  'test_helpers.approve_letter':
    'decides a letter, which is told of after the answer that makes its session; the growth test of checkout runs its statements',
  'test_helpers.deny_letter': 'the same',
  'test_helpers.fail_refund':
    'is a call to the sandbox, which the stub processor replaces; the growth test of refunds runs its statements',
  'test_helpers.succeed_refund': 'the same',
  'invoices.get_document': 'has a limit of requests a minute',
  'webhooks.create':
    'an account has at most 1,000 endpoints, fewer than a row makes; the growth test of webhooks runs its statements',
  'webhooks.test':
    'leaves deliveries that are tried again beside the rows that come after it; the growth test of webhooks runs its statements',
  'checkout_sessions.list_line_items starting_after': 'a session has a bounded number of lines',
  'webhooks.list starting_after': 'an account has a bounded number of endpoints',
  'webhooks.list_deliveries starting_after': 'deliveries have no records of their own that a template names',
};

/** Where an account may have fewer at once than the bench has connections. */
const connectionsOf: Readonly<Record<string, number>> = {
  'files.get_content': 2,
  'files.create': 2,
  // The account has one endpoint.
  'webhooks.update': 1,
  'webhooks.roll': 1,
};

/** Parameters of a page. `limit` and `offset` cost what they ask for; `ending_before` is `starting_after` from the other end. */
const pagination = new Set(['limit', 'offset', 'ending_before']);

const today = () => new Date().toISOString().slice(0, 10);

// Copies have the times of what they were made of, a million in some seconds. A range that began or ended among them would leave out, session by session, more than were ever
// created within seconds: one of these ranges has none of them, and the other all.
const aMinuteAgo = () => new Date(Date.now() - 60_000).toISOString();

/** A value of each filter, made of the records of a copy; behind a route's id where the name alone does not say it. */
const filterValues: Readonly<Record<string, (own: Own) => string>> = {
  // A value that hardly any record has is what an index is for.
  active: () => 'false',
  client_reference_id: () => 'order-1',
  metadata: () => 'a1',
  product: (own) => own('product'),
  lookup_keys: () => 'monthly',
  code: () => 'NO-SUCH-CODE',
  coupon: (own) => own('coupon'),
  customer: (own) => own('customer'),
  email: () => 'nobody@example.com',
  interval: () => '30',
  'checkout_sessions.list status': () => 'open',
  'letters.list status': () => 'approved',
  'subscriptions.list status': () => 'past_due',
  customer_email: () => 'nobody@example.com',
  subscription: (own) => own('subscription'),
  refund: (own) => own('refund'),
  mode: () => 'payment',
  disputed: () => 'true',
  selling_plan: () => 'none',
  charge: (own) => own('charge'),
  payout: (own) => own('payout'),
  source: (own) => own('charge'),
  'balance_transactions.list type': () => 'charge',
  'checkout_sessions.get_substantiation format': () => 'pdf',
  'reports.reconciliation format': () => 'csv',
  'reports.reconciliation from': today,
  'reports.reconciliation to': today,
  payment_intent: (own) => own('payment_intent'),
  checkout_session: (own) => own('checkout_session'),
  created_gt: aMinuteAgo,
  created_gte: aMinuteAgo,
  created_lt: aMinuteAgo,
  created_lte: aMinuteAgo,
  created: aMinuteAgo,
  event_type: () => 'customer.created',
  invoice_ids: (own) => own('invoice'),
};

/** Filters that are given together, where an index for each alone reads past what only the other leaves out. */
const givenTogether: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'products.list': [['active', 'metadata']],
  'prices.list': [['product', 'metadata']],
  'promo_codes.list': [
    ['coupon', 'active'],
    ['customer', 'active'],
    ['customer', 'coupon'],
  ],
};

/** How a filter that holds others is written in a query. */
const writtenAs: Readonly<Record<string, string>> = {
  metadata: 'metadata[shelf]',
  created: 'created[gte]',
  lookup_keys: 'lookup_keys[]',
  invoice_ids: 'invoice_ids[]',
};

/** What each list's cursor names. */
const cursorKinds: Readonly<Record<string, IdKind>> = {
  'shipping_rates.list': 'shipping_rate',
  'product_components.list': 'component_nutrition',
  'products.list': 'product',
  'prices.list': 'price',
  'coupons.list': 'coupon',
  'promo_codes.list': 'promo_code',
  'customers.list': 'customer',
  'customers.list_payment_methods': 'payment_method',
  'checkout_sessions.list': 'checkout_session',
  'payment_intents.list': 'payment_intent',
  'setup_intents.list': 'setup_intent',
  'charges.list': 'charge',
  'letters.list': 'letter',
  'refunds.list': 'refund',
  'disputes.list': 'dispute',
  'subscriptions.list': 'subscription',
  'invoices.list': 'invoice',
  'captures.list': 'capture',
  'balance_transactions.list': 'balance_transaction',
  'payouts.list': 'payout',
  'payment_links.list': 'payment_link',
  'consumer_invoices.list': 'invoice',
  'events.list': 'event',
  'receipts.list': 'receipt',
  'test_clocks.list': 'test_clock',
};

/** Routes that are about a session that is paid, not an open one. */
const aboutPaid = new Set(['checkout_sessions.refund', 'checkout_sessions.preview_refund']);

/** Every route of the contract and every filter of every list, and filters that are given together. Throws for one that it has no example of. */
export function growthCases(): GrowthCase[] {
  return allRoutes
    .filter(({ id }) => notMeasured[id] === undefined)
    .flatMap((route) => {
      const filters = [...filtersOf(route).map((filter) => [filter]), ...(givenTogether[route.id] ?? [])];
      return [caseOf(route), ...filters.map((given) => filterCase(route, given))];
    });
}

function filtersOf(route: Route): string[] {
  if (route.query === undefined) return [];
  const names = fieldNamesOf(route.query);
  if (names.length === 0) throw new Error(`${route.id}: its filters cannot be read`);
  return names.filter((name) => !pagination.has(name) && notMeasured[`${route.id} ${name}`] === undefined);
}

function caseOf(route: Route): GrowthCase {
  const makes = (madeBy[route.id] ?? []).map(({ route: maker, body }) => requestOf(routeOf(maker), undefined, body));
  return { name: route.id, connections: connectionsOf[route.id], makes, request: requestOf(route) };
}

function filterCase(route: Route, filters: readonly string[]): GrowthCase {
  const query = queryOf(route, filters);
  return { name: `${route.id} ${filters.join(' ')}`, makes: [], request: requestOf(route, query) };
}

/** The query that gives a list of this route these filters, of the records of a copy. */
export function queryOf(route: Route, filters: readonly string[]): (own: Own) => string {
  const given = filters.map((filter) => {
    const kind = cursorKinds[route.id];
    const cursor = kind === undefined ? undefined : (own: Own) => own(kind);
    const value =
      filter === 'starting_after' ? cursor : (filterValues[`${route.id} ${filter}`] ?? filterValues[filter]);
    if (value === undefined) throw new Error(`${route.id} ${filter} has no example value`);
    return { parameter: encodeURIComponent(writtenAs[filter] ?? filter), value };
  });
  return (own) => `?${given.map(({ parameter, value }) => `${parameter}=${encodeURIComponent(value(own))}`).join('&')}`;
}

/** The route of this id. */
export function routeOf(id: string): Route {
  const found = allRoutes.find((route) => route.id === id);
  if (found === undefined) throw new Error(`the contract has no ${id}`);
  return found;
}

/** The request of a route about a copy of the template, with the bodies that the contract's probes send. */
export function requestOf(
  route: Route,
  query: (own: Own) => string = () => '',
  bodyOf = bodies[route.id],
): GrowthRequest {
  return ({ records, copy, id, fields, made }) => {
    const own: Own = (kind) => copyOf(records.own[kind] ?? missing(`${route.id}: a ${kind}`), copy);
    const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      if (id !== undefined) return id;
      if (aboutPaid.has(route.id)) return copyOf(records.paidSession, copy);
      const kind = route.params[name] ?? missing(`${route.id}: the kind of ${name}`);
      if (made !== undefined) return idIn(made, kind) ?? missing(`an answer with a ${made.envelope}: a ${kind}`);
      // Endpoints are not copied.
      return kind === 'webhook_endpoint' ? (records.own[kind] ?? '') : own(kind);
    });
    const copied = Object.entries(records.references).map(([kind, one]) => [kind, copyOf(one, copy)]);
    const references = { ...Object.fromEntries(copied), ...fields } as ExampleReferences;
    const content = contentOf(route, references, bodyOf?.(references, made));
    return requestText(route.method, `${path}${query(own)}`, records.apiKey, content ?? emptyOf(route));
  };
}

function contentOf(route: Route, references: ExampleReferences, given: JsonObject | undefined) {
  if (route.body?.file !== undefined) {
    const { body, headers } = exampleContent(route, references);
    return { text: Buffer.from(body ?? '').toString('latin1'), type: headers['content-type'] ?? '' };
  }
  const envelope = route.body?.envelope ?? null;
  const enveloped = given === undefined || envelope === null ? given : { [envelope]: given };
  const body = enveloped ?? exampleBody(route, references);
  return body === undefined ? undefined : { body, idempotencyKey: randomUUID() };
}

type Own = (kind: IdKind) => string;

// A POST without a body says so by its length.
function emptyOf(route: Route) {
  return route.method === 'POST' ? { body: {}, idempotencyKey: randomUUID() } : undefined;
}

function missing(what: string): never {
  throw new Error(`${what} is not there`);
}
