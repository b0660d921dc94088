import { setTimeout as sleep } from 'node:timers/promises';
import type { Api, ApiAnswer, Constellation } from '@eligo/testkit';
import { newLiveCard } from '../live-card.ts';
import { processorMsOf, processorWaitMsOf } from '../processor-time.ts';
import { record, text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { cartOf, confirm, newCard, newCustomer, openShop, type Shop } from '../shop.ts';
import { type AttackKind, attackersOf, attackKinds } from './attackers.ts';
import type { Attacker } from './flood.ts';

/** What an account gets done while another one attacks. */
export interface Neighborhood {
  readonly attack: string;
  readonly confirmsPerSecond: number;
  readonly p99Ms: number;
  /** Of the confirms without an attack. Other programs on the machine change it. */
  readonly keptShare: number;
  /** Of the processor time that Eligo's process took: undefined where it cannot be measured. Other programs change it little. */
  readonly keptOfProcessor: number | undefined;
  /** Of the processor time that Postgres took for the connections of Eligo: the same. */
  readonly keptOfPostgres: number | undefined;
  /** Processor milliseconds that the attack cost each second, in Eligo's process and in Postgres. */
  readonly attackMsPerSecond: number | undefined;
  readonly attackPostgresMsPerSecond: number | undefined;
  /** Processor milliseconds that Eligo's process takes each second without an attack. */
  readonly aloneMsPerSecond: number | undefined;
  /** Milliseconds of each second for which Eligo's processes waited for a processor, beside the attack and without it: the machine is busy then, whoever keeps it so. */
  readonly waitsMsPerSecond: number | undefined;
  readonly waitsAloneMsPerSecond: number | undefined;
  /** Times the 99th percentile without an attack. Of both, the median of the rounds: in one round a single pause of the machine makes all shoppers wait. */
  readonly slowdown: number;
  /** Requests of the attacker that were worked on, and that were refused. */
  readonly answered: number;
  readonly refused: number;
}

const shoppersAtOnce = 8;

/** What is measured. */
export interface NeighborsPlan {
  readonly victim: Victim;
  /** The limit of the attacker's key. */
  readonly perSecond: number;
  /** All of them unless given. */
  readonly kinds?: readonly AttackKind[];
  /** Alone, attacked, alone, and so on: what other programs do meanwhile falls on both. Five unless given: with three the same attack left 0.72 and 0.95 of the confirms, one run after the other. */
  readonly rounds?: number;
  /** How long each takes: two and three seconds unless given. */
  readonly aloneMs?: number;
  readonly attackedMs?: number;
}

/** Whose confirms are measured: an account in live mode, or one in the attacker's mode and so of its rank. */
export type Victim = 'live' | 'same rank';

/**
 * One account confirms sessions as fast as it can; beside it another account in test mode does one attack after the other, with a
 * key that admits so many requests a second. What the account gets done during each is compared with what it gets done alone, before, between and after.
 */
export async function measureNeighbors(
  eligo: Constellation,
  { victim, perSecond, kinds = attackKinds, rounds = 5, aloneMs = 2_000, attackedMs = 3_000 }: NeighborsPlan,
): Promise<Neighborhood[]> {
  const { api, cardOf } = await victimOf(eligo, victim);
  const shop = await openShop(api);
  const attackers = await attackersOf(eligo, perSecond, kinds);
  const shoppers = await Promise.all(Array.from({ length: shoppersAtOnce }, () => newShopper(api, cardOf)));
  const shopFor = (ms: number) => measured(eligo, () => timesOfConfirms({ api, shop, shoppers, ms }));
  await shopFor(aloneMs);
  const found: Neighborhood[] = [];
  let before = await shopFor(aloneMs);
  for (const attacker of attackers) {
    const alone = [before];
    const attacked: Period[] = [];
    let [answered, refused] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const { period, report } = await duringAttack(attacker, () => shopFor(attackedMs));
      attacked.push(period);
      answered += report.answered;
      refused += report.refused;
      await settled(eligo);
      before = await shopFor(aloneMs);
      alone.push(before);
    }
    found.push({ attack: attacker.name, ...compared(alone, attacked), answered, refused });
  }
  return found;
}

async function duringAttack({ attack }: Attacker, work: () => Promise<Period>) {
  const over = new AbortController();
  const attacking = attack(over.signal);
  const period = await work();
  over.abort();
  return { period, report: await attacking };
}

/** Waits until the work that an attack left behind is done, such as events and the sorting out of dead rows: none of it is to count against what is measured next. */
async function settled(eligo: Constellation): Promise<void> {
  for (let looks = 0; looks < mostLooks; looks++) {
    const { processMs, postgresMs } = await measured(eligo, () => sleep(lookMs, []));
    if (processMs === undefined || postgresMs === undefined) return;
    if (processMs + postgresMs < quietMs) return;
  }
}

const lookMs = 300;
// A tenth of a processor.
const quietMs = 30;
const mostLooks = 30;

/** What was done in a time. */
interface Period {
  /** Of each confirm. */
  readonly times: readonly number[];
  readonly ms: number;
  /** Processor time of Eligo's process and of its connections to Postgres. */
  readonly processMs: number | undefined;
  readonly postgresMs: number | undefined;
  /** How long Eligo's processes waited for a processor. */
  readonly waitedMs: number | undefined;
}

async function measured(eligo: Constellation, work: () => Promise<number[]>): Promise<Period> {
  const before = await processorTimes(eligo);
  const startedAt = performance.now();
  const times = await work();
  // A confirm that takes long goes on after the time is over.
  const ms = performance.now() - startedAt;
  const after = await processorTimes(eligo);
  return {
    ...{ times, ms },
    processMs: spentMs(before.process, after.process),
    postgresMs: spentMs(before.postgres, after.postgres),
    waitedMs: spentMs(before.waited, after.waited),
  };
}

async function processorTimes(eligo: Constellation) {
  const stack = eligo.processes().filter(
    // Its components are in one process.
    ({ name, pid }, at, all) => name !== 'sandbox' && all.findIndex((other) => other.pid === pid) === at,
  );
  const backends = await eligo.database.admin<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()",
  );
  return { process: msOf(stack), postgres: msOf(backends), waited: msOf(stack, processorWaitMsOf) };
}

/** Milliseconds of each process. */
type Times = ReadonlyMap<number, number | undefined>;

function msOf(processes: readonly { pid: number }[], read = processorMsOf): Times {
  return new Map(processes.map(({ pid }) => [pid, read(pid)]));
}

/** Of all processes that there are afterwards: a connection that was closed meanwhile takes what it spent with it. */
function spentMs(before: Times, after: Times): number | undefined {
  let sum: number | undefined;
  for (const [pid, ms] of after) {
    if (ms === undefined) return undefined;
    sum = (sum ?? 0) + Math.max(0, ms - (before.get(pid) ?? 0));
  }
  return sum;
}

function sumOf(periods: readonly Period[]): Period {
  const sum = (of: (period: Period) => number | undefined) =>
    periods.reduce<number | undefined>((before, period) => {
      const ms = of(period);
      return before === undefined || ms === undefined ? undefined : before + ms;
    }, 0);
  return {
    times: periods.flatMap(({ times }) => times),
    ms: sum(({ ms }) => ms) ?? 0,
    processMs: sum(({ processMs }) => processMs),
    postgresMs: sum(({ postgresMs }) => postgresMs),
    waitedMs: sum(({ waitedMs }) => waitedMs),
  };
}

function compared(aloneRounds: readonly Period[], attackedRounds: readonly Period[]) {
  const [alone, attacked] = [sumOf(aloneRounds), sumOf(attackedRounds)];
  const confirmsPerSecond = perSecond(attacked.times.length, attacked);
  // A confirm costs what it costs alone; all else is the attack's.
  const ofConfirms = (of: (period: Period) => number | undefined) =>
    ((of(alone) ?? 0) / alone.times.length) * attacked.times.length;
  const attackMs = (of: (period: Period) => number | undefined) => {
    const all = of(attacked);
    return all === undefined ? undefined : perSecond(Math.max(0, all - ofConfirms(of)), attacked);
  };
  const keptOf = (of: (period: Period) => number | undefined) => {
    const all = of(attacked);
    return all && Math.min(1, ofConfirms(of) / all);
  };
  return {
    confirmsPerSecond,
    p99Ms: medianP99(attackedRounds),
    keptShare: confirmsPerSecond / perSecond(alone.times.length, alone),
    keptOfProcessor: keptOf((period) => period.processMs),
    keptOfPostgres: keptOf((period) => period.postgresMs),
    aloneMsPerSecond: alone.processMs && perSecond(alone.processMs, alone),
    attackMsPerSecond: attackMs((period) => period.processMs),
    attackPostgresMsPerSecond: attackMs((period) => period.postgresMs),
    waitsMsPerSecond: attacked.waitedMs && perSecond(attacked.waitedMs, attacked),
    waitsAloneMsPerSecond: alone.waitedMs && perSecond(alone.waitedMs, alone),
    slowdown: medianP99(attackedRounds) / medianP99(aloneRounds),
  };
}

function perSecond(count: number, { ms }: Period): number {
  return (count * 1_000) / ms;
}

interface Shopper {
  readonly customer: string;
  readonly card: string;
}

async function newShopper(api: Api, cardOf: (customer: string) => Promise<string>): Promise<Shopper> {
  const customer = await newCustomer(api);
  return { customer, card: await cardOf(customer) };
}

// With a key without a limit, and the means to get cards.
async function victimOf(eligo: Constellation, victim: Victim) {
  const isLive = victim === 'live';
  const account = isLive
    ? eligo.account
    : text(await runCli(eligo, ['accounts', 'create', '--name', 'Shop']), 'account');
  const given = ['--account', account, '--mode', isLive ? 'live' : 'test', '--rate-limit', '0'];
  const api = eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  const cardOf = (customer: string) => (isLive ? newLiveCard(eligo, customer) : newCard(api, customer, 'hsa'));
  return { api, cardOf };
}

interface Shopping {
  readonly api: Api;
  readonly shop: Shop;
  readonly shoppers: readonly Shopper[];
  readonly ms: number;
}

async function timesOfConfirms({ api, shop, shoppers, ms }: Shopping): Promise<number[]> {
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

// As a client does that is told to come again. The wait counts.
async function served(send: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  for (let tries = 1; ; tries++) {
    const answer = await send();
    if (answer.status === 200) return answer;
    if (answer.status !== 503 || tries === mostTries) throw new Error(`the shop was answered ${answer.status}`);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

const mostTries = 60;
const retryMs = 500;

function medianP99(rounds: readonly Period[]): number {
  const found = rounds.map(({ times }) => percentile(times, 0.99)).toSorted((one, other) => one - other);
  const middle = (found.length - 1) / 2;
  return ((found[Math.floor(middle)] ?? 0) + (found[Math.ceil(middle)] ?? 0)) / 2;
}

function percentile(times: readonly number[], share: number): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? 0;
}
