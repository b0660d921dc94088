import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A movement on a balance, as a processor lists it. Times are Unix seconds. */
export interface ListedMovement {
  readonly id: string;
  readonly created: number;
  readonly amount: number;
  readonly fee: number;
  /** US dollars unless another is given; listed whatever currency is asked for. */
  readonly currency?: string;
}

/** A processor that lists these movements, oldest first here, and their balance to whoever asks, as Stripe's interface does. */
export interface MovementList {
  readonly url: string;
  /** How many pages it has given. */
  pages(): number;
  /** Refuses every list that begins at this time or later. */
  refuseFrom(at: number): void;
  close(): Promise<void>;
}

/** Starts it. The array can be changed between calls. */
export async function startMovementList(movements: readonly ListedMovement[]): Promise<MovementList> {
  let pages = 0;
  let refusedFrom = Number.POSITIVE_INFINITY;
  let places = new Map<string, number>();
  const placeOf = (id: string) => {
    if (places.size !== movements.length) places = new Map(movements.map((movement, place) => [movement.id, place]));
    return places.get(id) ?? 0;
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('content-type', 'application/json');
    if (pathname === '/v1/balance') return response.end(JSON.stringify(balanceOf(movements)));
    if (pathname !== '/v1/balance_transactions') return response.writeHead(404).end('{"error":{"type":"api_error"}}');
    pages += 1;
    const from = Number(searchParams.get('created[gte]') ?? 0);
    const before = Number(searchParams.get('created[lt]') ?? Number.MAX_SAFE_INTEGER);
    const after = searchParams.get('starting_after');
    const limit = Number(searchParams.get('limit') ?? 10);
    if (from >= refusedFrom)
      return response.writeHead(403).end('{"error":{"type":"invalid_request_error","code":"account_invalid"}}');
    // Newest first, from behind the last one that the caller has.
    let at = firstFrom(movements, before);
    if (after !== null) at = Math.min(at, placeOf(after));
    const data: object[] = [];
    for (at -= 1; at >= 0 && data.length < limit; at -= 1) {
      const movement = movements[at];
      if (movement === undefined || movement.created < from) break;
      data.push(shapeOf(movement));
    }
    const next = movements[at];
    response.end(
      JSON.stringify({ object: 'list', data, has_more: next !== undefined && next.created >= from, url: pathname }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages: () => pages,
    refuseFrom: (at) => {
      refusedFrom = at;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** The place of the first movement that is not older. */
function firstFrom(movements: readonly ListedMovement[], at: number): number {
  let [low, high] = [0, movements.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((movements[middle]?.created ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function balanceOf(movements: readonly ListedMovement[]): object {
  const amount = movements.reduce(
    (sum, { amount, fee, currency = 'usd' }) => sum + (currency === 'usd' ? amount - fee : 0),
    0,
  );
  return { object: 'balance', available: [{ amount, currency: 'usd' }], pending: [], livemode: false };
}

function shapeOf({ id, created, amount, fee, currency = 'usd' }: ListedMovement): object {
  const net = amount - fee;
  return {
    ...{ id, object: 'balance_transaction', amount, fee, net, created, available_on: created, currency },
    ...{
      description: null,
      exchange_rate: null,
      reporting_category: 'charge',
      source: `ch_${id}`,
      status: 'available',
    },
    ...{ type: 'charge', fee_details: [{ amount: fee, application: null, currency, type: 'stripe_fee' }] },
  };
}
