import { type Bench, loadEach } from '../bench.ts';
import { requestText } from '../requests.ts';
import type { Compared } from '../rounds.ts';
import { sessionBody } from '../seed/shop.ts';
import { againstLimit } from './against-limit.ts';

/** Creates sessions of three lines. */
export async function createSession(bench: Bench): Promise<Compared> {
  const shop = await bench.shop();
  const { sizes, stack } = bench;
  const perConnection = Math.ceil(sizes.perRound / sizes.connections);
  const texts = shop.shoppers.map((shopper) => {
    const body = sessionBody(shop, shopper);
    const request = requestText('POST', '/v1/checkout/sessions', stack.file.test_api_key, { body });
    return Array.from({ length: perConnection }, () => request);
  });
  return againstLimit(bench, {
    operation: 'create-session',
    prepare: async () => [],
    ours: () => loadEach(bench, texts),
    counted: 'select count(*) from checkout.sessions',
  });
}
