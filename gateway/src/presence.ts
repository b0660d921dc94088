import { notFoundCodeOf } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { IdKind } from '@eligo/values';
import type { Binding, Handler } from './bind.ts';
import type { ApiRequest } from './http/api-request.ts';
import type { Peers } from './peers.ts';

/** A request whose record is looked up: its key, its call, its turn and what it was sent with. */
export type Asked = Pick<ApiRequest<unknown, unknown>, 'key' | 'call' | 'headers' | 'request' | 'turn'>;

/**
 * Throws the 404 of a record that the caller does not have. Asked only when a request is about to be refused for its body, because a path that
 * names nothing goes before a body that is wrong (decisions 13, Order of refusals).
 */
export interface Presence {
  assertPresent(kind: IdKind, id: string, asked: Asked): Promise<void>;
  /** Whether records of this kind can be asked for. */
  canAsk(kind: IdKind): boolean;
}

/** Asks for a record by the route that reads one of its kind. */
export function presenceOf(bindings: readonly Binding[], { catalog }: Peers): Presence {
  const reads = new Map<IdKind, Handler<unknown, unknown>>();
  for (const { route, handle } of bindings) {
    const [kind, ...others] = Object.values(route.params);
    if (route.method !== 'GET' || kind === undefined || others.length > 0 || !route.path.endsWith('}')) continue;
    reads.set(kind, handle);
  }
  return {
    canAsk: (kind) => reads.has(kind),
    async assertPresent(kind, id, asked) {
      // A sibling account's price can be read and not be changed: the batch has the caller's own alone.
      if (kind === 'price') {
        const { prices } = await catalog.batchGetPrices({ ids: [id] }, asked.call);
        if (prices.length === 0) throw new Failure(notFoundCodeOf(kind));
        return;
      }
      const read = reads.get(kind);
      if (read === undefined) throw new Error(`No presence check exists for a ${kind}`);
      await read({ ...asked, id, query: undefined, body: undefined, expand: new Set(), idempotency: undefined });
    },
  };
}
