import { apiClient, waitUntil } from '@eligo/testkit';
import { answeredCalls } from './answered-calls.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { openSellingShop, type SellingShop } from './sell.ts';

/** What is restarted: the gateways, a key, the processes, and a way to restart one and wait until it is ready. */
export interface RollingTarget {
  readonly urls: readonly string[];
  readonly testApiKey: string;
  processes(): readonly { readonly name: string; readonly admin: string | null }[];
  restart(name: string): Promise<void>;
}

/** What happened during a rolling restart. */
export interface RollingReport {
  readonly sales: number;
  /** In words: requests that failed, events that did not arrive, and processes that answered nothing. */
  readonly failures: readonly string[];
  /** Events of the sales that arrived at the shop's endpoint. */
  readonly events: number;
  /** Requests that each gateway was sent. */
  readonly sent: readonly number[];
  /** Calls that each process answered during the sales, before its restart and after it. */
  readonly answered: Readonly<Record<string, { readonly before: number; readonly after: number }>>;
  readonly tookMs: number;
}

/**
 * Restarts every process, a first replica of each component and then a second, while clients behind a load balancer sell: a cart, its payment and a
 * refund, a subscription, its invoice and its end, and reads. Clients do not retry. Each process answers calls before and after its restart.
 */
export async function runRolling(
  eligo: RollingTarget,
  rounds: readonly (readonly string[])[],
  clientsAtOnce: number,
): Promise<RollingReport> {
  const startedAt = performance.now();
  const balancer = await startBalancer(eligo.urls);
  const shop = await openSellingShop(apiClient(balancer.url, eligo.testApiKey));
  try {
    const failures: string[] = [];
    const calls = await callCounts(eligo, rounds.flat(), failures);
    const sales = await sellWhile(shop, clientsAtOnce, failures, () => restartAll(eligo, rounds, balancer, calls));
    const { arrived, missing } = await shop.arrived(60_000);
    failures.push(...missing.map((event) => `no webhook of ${event}`));
    const sent = eligo.urls.map((url) => balancer.sent.get(url) ?? 0);
    const tookMs = Math.round(performance.now() - startedAt);
    return { sales, failures, events: arrived, sent, answered: Object.fromEntries(calls.counted), tookMs };
  } finally {
    await balancer.close();
    await shop.close();
  }
}

/** Has clients sell until the work is done; returns how many sales there were. */
async function sellWhile(
  shop: SellingShop,
  clientsAtOnce: number,
  failures: string[],
  work: () => Promise<void>,
): Promise<number> {
  let sales = 0;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      try {
        await shop.sell();
        sales += 1;
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const clients = Array.from({ length: clientsAtOnce }, client);
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  return sales;
}

async function restartAll(
  { restart }: RollingTarget,
  rounds: readonly (readonly string[])[],
  balancer: Balancer,
  calls: CallCounts,
): Promise<void> {
  for (const names of rounds) {
    await Promise.all(names.map((name) => calls.note(name, 'before')));
    await Promise.all(names.map((name) => restart(name)));
    // A process is ready before the load balancer has seen it: the public page is up to a second old.
    await balancer.allReady();
  }
  await Promise.all(rounds.flat().map((name) => calls.note(name, 'after')));
}

interface CallCounts {
  readonly counted: ReadonlyMap<string, { before: number; after: number }>;
  /** Waits until a process has answered a call of the sales, and notes how many it has. */
  note(name: string, when: 'before' | 'after'): Promise<void>;
}

async function callCounts(eligo: RollingTarget, names: readonly string[], failures: string[]): Promise<CallCounts> {
  const count = async (name: string) => {
    const admin = eligo.processes().find((one) => one.name === name)?.admin;
    if (!admin) throw new Error(`${name} has no admin address`);
    return answeredCalls(admin);
  };
  const earlier = new Map(await Promise.all(names.map(async (name) => [name, await count(name)] as const)));
  const counted = new Map(names.map((name) => [name, { before: 0, after: 0 }]));
  return {
    counted,
    async note(name, when) {
      // A new process counts from zero.
      const from = when === 'before' ? (earlier.get(name) ?? 0) : 0;
      const answered = async () => {
        const calls = (await count(name)) - from;
        return calls > 0 && calls;
      };
      const calls = await waitUntil(answered, { withinMs: 30_000, everyMs: 100 }).catch(() => 0);
      if (calls === 0) failures.push(`${name} answered no call ${when} its restart`);
      const line = counted.get(name);
      if (line !== undefined) line[when] = calls;
    },
  };
}
