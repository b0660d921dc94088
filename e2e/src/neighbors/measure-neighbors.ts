import type { Api, Constellation } from '@eligo/testkit';
import { text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { confirm, newCard, newCustomer, newSession, openShop, type Shop } from '../shop.ts';
import { attackersOf } from './attackers.ts';

/** What an account gets done while another one attacks. */
export interface Neighborhood {
  readonly attack: string;
  readonly confirmsPerSecond: number;
  readonly p99Ms: number;
  /** Of the confirms without an attack. */
  readonly keptShare: number;
  /** Times the 99th percentile without an attack. */
  readonly slowdown: number;
}

const shoppers = 8;
const measureMs = 6_000;

/**
 * One account confirms sessions as fast as it can, in test mode, which the gateway admits after live mode; beside it another account does one attack after the
 * other. What the account gets done during each is compared with what it gets done alone, measured before each attack.
 */
export async function measureNeighbors(eligo: Constellation): Promise<Neighborhood[]> {
  const account = await runCli(eligo, ['accounts', 'create', '--name', 'Shop']);
  const given = ['--account', text(account, 'account'), '--mode', 'test', '--rate-limit', '0'];
  const api = eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  const shop = await openShop(api);
  const attackers = await attackersOf(eligo);
  await confirmsOf(api, shop, 4_000);
  const found: Neighborhood[] = [];
  for (const { name, attack } of attackers) {
    const alone = await confirmsOf(api, shop, measureMs / 2);
    const over = new AbortController();
    const attacking = attack(over.signal);
    const attacked = await confirmsOf(api, shop, measureMs);
    over.abort();
    await attacking;
    found.push({
      attack: name,
      confirmsPerSecond: attacked.perSecond,
      p99Ms: attacked.p99Ms,
      keptShare: attacked.perSecond / alone.perSecond,
      slowdown: attacked.p99Ms / alone.p99Ms,
    });
  }
  return found;
}

async function confirmsOf(api: Api, shop: Shop, forMs: number): Promise<{ perSecond: number; p99Ms: number }> {
  const until = performance.now() + forMs;
  const times: number[] = [];
  const shopping = Array.from({ length: shoppers }, async () => {
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'hsa');
    while (performance.now() < until) {
      const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
      const startedAt = performance.now();
      const { status } = await confirm(api, session, card);
      if (status !== 200) throw new Error(`a confirm of the account that is attacked was answered ${status}`);
      times.push(performance.now() - startedAt);
    }
  });
  await Promise.all(shopping);
  times.sort((one, other) => one - other);
  return { perSecond: times.length / (forMs / 1_000), p99Ms: times[Math.floor(times.length * 0.99)] ?? 0 };
}
