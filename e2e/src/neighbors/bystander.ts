import { type Constellation, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { record, text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { make } from '../shop.ts';
import { served } from './served.ts';

/** How long reads took, and how long after their write webhooks arrived. */
export interface Seen {
  readonly readsMs: readonly number[];
  readonly deliveriesMs: readonly number[];
}

/** A third account, which asks for little: it reads a record and changes one five times a second, and has a webhook of each change. */
export interface Bystander {
  /** Watches for as long as the work takes. */
  watch<Done>(work: () => Promise<Done>): Promise<{ done: Done; seen: Seen }>;
  close(): Promise<void>;
}

export async function openBystander(eligo: Constellation): Promise<Bystander> {
  const account = text(await runCli(eligo, ['accounts', 'create', '--name', 'Bystander']), 'account');
  const given = ['--account', account, '--mode', 'test', '--rate-limit', '0'];
  const api = eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  const receiver = await startReceiver();
  await make(api, '/v1/webhooks', 'webhook', { url: receiver.url, events: ['customer.created'] });
  const read = `/v1/products/${text(await make(api, '/v1/products', 'product', { name: 'Towel' }), 'product_id')}`;
  return {
    async watch(work) {
      const readsMs: number[] = [];
      const deliveriesMs: number[] = [];
      const look = async () => {
        const startedAt = performance.now();
        await served(() => api.get(read));
        readsMs.push(performance.now() - startedAt);
        const { body } = await served(() => api.post('/v1/customers', { customer: {} }));
        const madeAt = performance.now();
        await arrivalOf(receiver, text(record(body, 'customer'), 'customer_id'));
        deliveriesMs.push(performance.now() - madeAt);
      };
      const looks: Promise<void>[] = [];
      const timer = setInterval(() => looks.push(look()), everyMs);
      try {
        return { done: await work(), seen: { readsMs, deliveriesMs } };
      } finally {
        clearInterval(timer);
        await Promise.all(looks);
      }
    },
    close: () => receiver.close(),
  };
}

function arrivalOf({ ofType }: Receiver, customer: string): Promise<unknown> {
  return waitUntil(() => ofType('customer.created').find((one) => one.raw.includes(customer)), {
    ...{ everyMs: 5, withinMs: 60_000 },
    what: 'the delivery to the bystander',
  });
}

const everyMs = 200;
