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
  /** Requests of the attacker that were worked on, and that were refused. */
  readonly answered: number;
  readonly refused: number;
}

const shoppers = 8;
const aloneMs = 3_000;
const attackedMs = 5_000;

/**
 * One account confirms sessions as fast as it can; beside it another account, in the same mode and so of the same rank, does one attack after the other, with a
 * key that admits so many requests a second. What the account gets done during each is compared with what it gets done alone, before and after it.
 */
export async function measureNeighbors(eligo: Constellation, perSecond: number): Promise<Neighborhood[]> {
  const account = await runCli(eligo, ['accounts', 'create', '--name', 'Shop']);
  const given = ['--account', text(account, 'account'), '--mode', 'test', '--rate-limit', '0'];
  const api = eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  const shop = await openShop(api);
  const attackers = await attackersOf(eligo, perSecond);
  await timesOfConfirms(api, shop, aloneMs);
  const found: Neighborhood[] = [];
  let before = await timesOfConfirms(api, shop, aloneMs);
  for (const { name, attack } of attackers) {
    const over = new AbortController();
    const attacking = attack(over.signal);
    const attacked = await timesOfConfirms(api, shop, attackedMs);
    over.abort();
    const { answered, refused } = await attacking;
    const after = await timesOfConfirms(api, shop, aloneMs);
    const alone = [...before, ...after];
    const confirmsPerSecond = (attacked.length * 1_000) / attackedMs;
    found.push({
      attack: name,
      confirmsPerSecond,
      p99Ms: p99(attacked),
      keptShare: confirmsPerSecond / ((alone.length * 1_000) / (2 * aloneMs)),
      slowdown: p99(attacked) / p99(alone),
      answered,
      refused,
    });
    before = after;
  }
  return found;
}

async function timesOfConfirms(api: Api, shop: Shop, forMs: number): Promise<number[]> {
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
  return times;
}

function p99(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? 0;
}
