import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { cents, intervalOf, metadataOf, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';
import { sharedReads } from '../shared-reads.ts';
import { productData } from './products.ts';

type PriceFields = NonNullable<(typeof routes.prices.create)['body']>['schema']['_output'];
type PriceChange = NonNullable<(typeof routes.prices.update)['body']>['schema']['_output'];

export function priceBindings({ catalog }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update, updateByPost } = routes.prices;
  const read = sharedReads({
    one: (id, call) => catalog.getPrice({ id }, call),
    many: async (ids, call) => (await catalog.batchGetPrices({ ids }, call)).prices,
    idOf: ({ priceId }) => priceId,
  });
  const change = async (request: ApiRequest<unknown, PriceChange>) =>
    answers.one(request, 'price', await catalog.updatePrice(changeOf(request.id, request.body), request.call));
  return [
    bind(list, async (request) => {
      const { query, call, expand } = request;
      const message = {
        page: pageOf(query),
        lookupKeys: query.lookup_keys ?? [],
        metadata: query.metadata ?? {},
        expandProduct: expand.has('product'),
        ...given({ active: query.active, productId: query.product }),
      };
      const page = await catalog.listPrices(message, call);
      return answers.list(request, 'price', page.prices, page.hasMore);
    }),
    bind(create, async (request) =>
      answers.one(request, 'price', await catalog.createPrice(creationOf(request.body), request.call)),
    ),
    bind(get, async (request) => {
      const { id, call, expand } = request;
      const price = expand.has('product') ? catalog.getPrice({ id, expandProduct: true }, call) : read(id, call);
      return answers.one(request, 'price', await price);
    }),
    bind(update, change),
    bind(updateByPost, change),
  ];
}

/** Recurrence as the services take it. */
export function recurringOf(recurring: NonNullable<PriceFields['recurring']>) {
  return {
    interval: intervalOf(recurring.interval),
    intervalCount: recurring.interval_count ?? 1,
    ...given({ trialPeriodDays: recurring.trial_period_days }),
  };
}

/** The product of a price: one that exists or one to be made with it. The contract has seen to it that exactly one is given. */
export function ownerOf(price: Pick<PriceFields, 'product' | 'product_data'>) {
  if (price.product !== undefined) return { case: 'productId' as const, value: price.product };
  return { case: 'productData' as const, value: productData(price.product_data ?? { name: '' }) };
}

function creationOf(price: PriceFields) {
  return {
    unitAmountCents: cents(price.unit_amount),
    transferLookupKey: price.transfer_lookup_key ?? false,
    metadata: price.metadata ?? {},
    owner: ownerOf(price),
    ...given({
      lookupKey: price.lookup_key,
      description: price.description,
      recurring: price.recurring === undefined ? undefined : recurringOf(price.recurring),
      hsaFsaEligibility: price.hsa_fsa_eligibility,
      active: price.active,
    }),
  };
}

function changeOf(id: string, price: PriceChange) {
  return {
    id,
    transferLookupKey: price.transfer_lookup_key ?? false,
    clear: price.clear ?? [],
    ...given({
      active: price.active,
      description: price.description,
      metadata: metadataOf(price.metadata),
      lookupKey: price.lookup_key,
      hsaFsaEligibility: price.hsa_fsa_eligibility,
    }),
  };
}
