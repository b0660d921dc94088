import type { Api, Constellation } from '@eligo/testkit';
import { newLiveCard } from '../live-card.ts';
import { record, text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { cartOf, confirm, newCard, newCustomer, type Shop } from '../shop.ts';
import { served } from './served.ts';

/** Whose confirms are measured: an account in live mode, or one in the attacker's mode and so of its rank, both with a key without a limit; or one of its rank with the attacker's limit. */
export type Victim = 'live' | 'same rank' | 'same limit';

/** Somebody who pays. */
export interface Shopper {
  readonly customer: string;
  readonly card: string;
}

export async function newShopper(api: Api, cardOf: (customer: string) => Promise<string>): Promise<Shopper> {
  const customer = await newCustomer(api);
  return { customer, card: await cardOf(customer) };
}

/** The key of the account whose confirms are measured, and the means to get cards. */
export async function victimOf(eligo: Constellation, victim: Victim, perSecond: number) {
  const isLive = victim === 'live';
  const limit = victim === 'same limit' ? perSecond : 0;
  const account = isLive
    ? eligo.account
    : text(await runCli(eligo, ['accounts', 'create', '--name', 'Shop']), 'account');
  const given = ['--account', account, '--mode', isLive ? 'live' : 'test', '--rate-limit', String(limit)];
  const api = eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  const cardOf = (customer: string) => (isLive ? newLiveCard(eligo, customer) : newCard(api, customer, 'hsa'));
  return { api, cardOf };
}

/** What is bought, by whom, and for how long. */
export interface Shopping {
  readonly api: Api;
  readonly shop: Shop;
  readonly shoppers: readonly Shopper[];
  readonly ms: number;
}

/** Confirms sessions for so long, each shopper one after the other. Answers how long each took. */
export async function timesOfConfirms({ api, shop, shoppers, ms }: Shopping): Promise<number[]> {
  const until = performance.now() + ms;
  const times: number[] = [];
  const shopping = shoppers.map(async ({ customer, card }) => {
    while (performance.now() < until) {
      const made = await served(() =>
        api.post('/v1/checkout/sessions', { checkout_session: { ...cartOf(shop), customer } }),
      );
      const session = text(record(made.body, 'checkout_session'), 'checkout_session_id');
      const startedAt = performance.now();
      const key = crypto.randomUUID();
      await served(() => confirm(api, session, card, { key }));
      times.push(performance.now() - startedAt);
    }
  });
  await Promise.all(shopping);
  return times;
}
