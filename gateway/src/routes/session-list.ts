import type { routes } from '@eligo/contract';
import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import { maxTimeoutMs } from '@eligo/rpc';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { maxIdsPerCall } from '../expand/expand.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

type Query = NonNullable<(typeof routes.checkoutSessions.list)['query']>['_output'];

/**
 * Sessions that are expanded and written together: memory holds this many, however many are asked for. A session has up to 50 captures, so a chunk
 * ends sooner where they are expanded.
 */
const chunkSize = 100;
/** A slow client must be able to take this many within the longest deadline of one call; a longer list is read in slices. */
const sliceSize = 1_000;

/** The JSON text of a list of sessions, piece by piece: a page may hold as many rows as there are (decisions 3). */
export async function* sessionPieces(
  peers: Peers,
  answers: Answers,
  request: ApiRequest<Query, unknown>,
): AsyncGenerator<string> {
  let open = '{"checkout_sessions":[';
  let chunk: CheckoutSession[] = [];
  let captures = 0;
  let hasMore = false;
  const text = async () => {
    const rows = await answers.rows(request, 'checkout_session', chunk);
    chunk = [];
    captures = 0;
    const joined = rows.map((row) => JSON.stringify(row)).join(',');
    const piece = joined === '' ? open : open + joined;
    open = joined === '' ? '' : ',';
    return piece;
  };
  for await (const item of sessionsOf(peers, request)) {
    if (typeof item === 'boolean') {
      hasMore = item;
      continue;
    }
    const more = request.expand.has('captures') ? item.captureIds.length : 0;
    if (chunk.length === chunkSize || captures + more > maxIdsPerCall) yield text();
    chunk.push(item);
    captures += more;
  }
  const last = chunk.length > 0 || open.startsWith('{') ? await text() : '';
  yield `${last}],"has_more":${hasMore}}`;
}

// Yields sessions and at the end whether there are more. Only a list that goes downward can be continued by its last id.
async function* sessionsOf(
  { checkout }: Peers,
  { query, call }: ApiRequest<Query, unknown>,
): AsyncGenerator<CheckoutSession | boolean> {
  const filters = filtersOf(query);
  const page = { ...query };
  const options = { ...call, timeoutMs: query.limit > chunkSize ? maxTimeoutMs : undefined };
  let left = query.limit;
  for (;;) {
    const limit = query.ending_before === undefined ? Math.min(left, sliceSize) : left;
    let hasMore = false;
    let last: string | undefined;
    for await (const { item } of checkout.listSessions({ page: pageOf({ ...page, limit }), ...filters }, options)) {
      if (item.case === 'end') hasMore = item.value.hasMore;
      if (item.case !== 'session') continue;
      last = item.value.checkoutSessionId;
      left -= 1;
      yield item.value;
    }
    if (!hasMore || left <= 0 || last === undefined || query.ending_before !== undefined) {
      yield hasMore;
      return;
    }
    page.starting_after = last;
    page.offset = 0;
  }
}

function filtersOf(query: Query) {
  const { created } = query;
  return given({
    intervalDays: query.interval,
    status: query.status,
    customerId: query.customer,
    customerEmail: query.customer_email,
    subscriptionId: query.subscription,
    clientReferenceId: query.client_reference_id,
    mode: query.mode,
    disputed: query.disputed,
    sellingPlan: query.selling_plan,
    paymentIntentId: query.payment_intent,
    createdGtMs: milliseconds(query.created_gt ?? created?.gt),
    createdGteMs: milliseconds(query.created_gte ?? created?.gte),
    createdLtMs: milliseconds(query.created_lt ?? created?.lt),
    createdLteMs: milliseconds(query.created_lte ?? created?.lte),
  });
}

function milliseconds(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
