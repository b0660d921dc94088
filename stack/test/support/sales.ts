import { randomUUID } from 'node:crypto';
import { type Api, apiClient, waitUntil } from '@eligo/testkit';
import type { StackFile } from '../../src/stack-file.ts';

/** Sells until it is stopped: a cart and a confirm, over and over. */
export interface Sales {
  /** The sessions that were confirmed so far, oldest first. */
  readonly confirmed: readonly string[];
  /** Resolves when the last sale has ended; rejects with what failed. */
  stop(): Promise<void>;
}

/** A paid cart of which the processor has given a part back. Resolves with the session's id. */
export async function sellAndRefund(stack: StackFile): Promise<string> {
  const api = apiClient(stack.gateway, stack.test_api_key);
  const price = await makePrice(api);
  const session = await sell(api, price);
  const lines = { line_items: [{ price, amount_to_refund: 1_000 }] };
  const answer = await api.ok('POST', `/v1/checkout/sessions/${session}/refund`, { body: { checkout_session: lines } });
  const [refund] = (answer.checkout_session as { refunds: string[] }).refunds;
  const read = async () => (await api.ok('GET', `/v1/refunds/${refund}`)).refund as { status: string };
  await waitUntil(async () => (await read()).status === 'succeeded', { what: 'the refund' });
  return session;
}

/** Begins to sell in a stack, through its public interface. */
export function sellIn(stack: StackFile): Sales {
  const api = apiClient(stack.gateway, stack.test_api_key);
  const confirmed: string[] = [];
  let isOver = false;
  const run = async () => {
    const price = await makePrice(api);
    while (!isOver) confirmed.push(await sell(api, price));
  };
  const running = run();
  return {
    confirmed,
    async stop() {
      isOver = true;
      await running;
    },
  };
}

function makePrice(api: Api): Promise<string> {
  return make(api, '/v1/prices', 'price', {
    unit_amount: 2_500,
    product_data: { name: 'Thermometer', hsa_fsa_eligibility: 'auto_substantiation' },
  });
}

async function sell(api: Api, price: string): Promise<string> {
  const customer = await make(api, '/v1/customers', 'customer', { email: 'ada@example.com' });
  const card = await make(api, '/v1/test_helpers/payment_methods', 'payment_method', { customer, card: 'hsa' });
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
    customer,
    line_items: [{ price, quantity: 1 }],
    success_url: 'https://shop.example/done',
  });
  await api.ok('POST', `/v1/checkout/sessions/${session}/confirm`, {
    body: { checkout_session: { payment_method: card } },
    idempotencyKey: randomUUID(),
  });
  return session;
}

async function make(api: Api, path: string, envelope: string, fields: object): Promise<string> {
  const answer = await api.ok('POST', path, { body: { [envelope]: fields } });
  return String((answer[envelope] as Record<string, unknown>)[`${envelope}_id`]);
}
