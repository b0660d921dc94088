import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Groups, openGroups } from '@eligo/postgres';
import type {
  CatalogService,
  PlainCartSchema,
  ResolveCartRequest,
  ResolvedCart,
} from '@eligo/proto/catalog/v1/catalog';
import type { Call, Client } from '@eligo/rpc';

/** A cart to price, and the call that it is for. */
export interface CartToPrice {
  readonly call: Call;
  readonly request: CartRequest;
}

/** What a cart is priced from. */
export type CartRequest = Pick<
  ResolveCartRequest,
  'sessionId' | 'lines' | 'discounts' | 'atMs' | 'bodyPath' | 'activatesCoupons' | 'inPlaceOf'
> &
  Partial<Pick<ResolveCartRequest, 'shippingRateId' | 'customerId'>>;

/** Carts that are priced together. */
export type PlainCarts = Groups<CartToPrice, ResolvedCart | undefined>;

/** Prices carts of plain prices; those that come at the same time share a call (ADR 20). Undefined for a cart that the call refused. */
export function openPlainCarts(catalog: Client<typeof CatalogService>): PlainCarts {
  return openGroups<CartToPrice, ResolvedCart | undefined>({
    isRepeatable: true,
    alone: (_scope, { call, request }) => catalog.resolveCart(request, call),
    async together(_scope, [first, ...others]) {
      if (first === undefined) return [];
      const { caller, requestId, traceparent } = first.call;
      // The features of an account decide what is eligible.
      if (others.some(({ call }) => String(call.caller.features) !== String(caller.features))) {
        throw new Error('Requests of one account have different features');
      }
      const all = [first, ...others];
      const { carts } = await catalog.resolveCarts(
        { carts: all.map(({ request }) => plainCartOf(request)) },
        { caller, requestId, traceparent, timeoutMs: Math.min(...all.map(({ call }) => call.timeoutMs())) },
      );
      return all.map((_one, at) => carts[at]?.cart);
    },
  });
}

/** A cart of more lines is priced alone: sixteen of these are far smaller than the largest message. */
const mostPlainLines = 20;

/** Whether a cart may be priced together with others: it names prices, and has no discounts. */
export function isPlain({ lines, discounts }: CartRequest): boolean {
  return discounts.length === 0 && lines.length <= mostPlainLines && lines.every(({ item }) => item.case === 'priceId');
}

function plainCartOf({ lines, shippingRateId, atMs }: CartRequest): MessageInitShape<typeof PlainCartSchema> {
  const priceIds = lines.flatMap(({ item }) => (item.case === 'priceId' ? [item.value] : []));
  return { priceIds, atMs, ...(shippingRateId === undefined ? {} : { shippingRateId }) };
}
