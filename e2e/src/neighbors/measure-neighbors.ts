import { setTimeout as sleep } from 'node:timers/promises';
import type { Constellation } from '@eligo/testkit';
import { processorMsOf, processorWaitMsOf } from '../processor-time.ts';
import { openShop } from '../shop.ts';
import type { Attack } from './attack.ts';
import { type AttackingAccount, openAttackingAccount } from './attacking-account.ts';
import { type Bystander, openBystander, type Seen } from './bystander.ts';
import type { AttackReport } from './flood.ts';
import { newShopper, timesOfConfirms, type Victim, victimOf } from './victim.ts';

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
  /** What a third account saw, where the attack is watched: milliseconds within which nine of ten reads were answered, and of ten events delivered. */
  readonly readsMs?: number;
  readonly readsAloneMs?: number;
  readonly deliveriesMs?: number;
  readonly deliveriesAloneMs?: number;
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
  readonly attacks: readonly Attack[];
  /** Alone, attacked, alone, and so on: what other programs do meanwhile falls on both. Five unless given: with three the same attack left 0.72 and 0.95 of the confirms, one run after the other. */
  readonly rounds?: number;
  /** How long each takes: two and three seconds unless given. */
  readonly aloneMs?: number;
  readonly attackedMs?: number;
  /** Whether a third account watches those attacks that say so; it does unless told otherwise. */
  readonly watches?: boolean;
}

/**
 * One account confirms sessions as fast as it can; beside it another account in test mode does one attack after the other, with a
 * key that admits so many requests a second. What the account gets done during each is compared with what it gets done alone, before, between and after.
 */
export async function measureNeighbors(
  eligo: Constellation,
  { victim, perSecond, attacks, rounds = 5, aloneMs = 2_000, attackedMs = 3_000, watches = true }: NeighborsPlan,
): Promise<Neighborhood[]> {
  const { api, cardOf } = await victimOf(eligo, victim, perSecond);
  const shop = await openShop(api);
  const shoppers = await Promise.all(Array.from({ length: shoppersAtOnce }, () => newShopper(api, cardOf)));
  const shopFor = (ms: number) => measured(eligo, () => timesOfConfirms({ api, shop, shoppers, ms }));
  let shared: AttackingAccount | undefined;
  await shopFor(aloneMs);
  const found: Neighborhood[] = [];
  for (const { name, isAlone, isWatched, prepare } of attacks) {
    const account = (isAlone ? undefined : shared) ?? (await openAttackingAccount(eligo, perSecond));
    if (!isAlone) shared = account;
    const attack = await prepare(account);
    const bystander = isWatched && watches ? await openBystander(eligo) : undefined;
    const watched = (work: () => Promise<Period>) => watchedBy(bystander, work);
    await settled(eligo);
    const alone = [await watched(() => shopFor(aloneMs))];
    const attacked: Watched[] = [];
    let [answered, refused] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const { done, report } = await duringAttack(attack, () => watched(() => shopFor(attackedMs)));
      attacked.push(done);
      answered += report.answered;
      refused += report.refused;
      await settled(eligo);
      alone.push(await watched(() => shopFor(aloneMs)));
    }
    await bystander?.close();
    found.push({ attack: name, ...compared(alone, attacked), ...seenBy(alone, attacked), answered, refused });
  }
  return found;
}

async function duringAttack<Done>(attack: (signal: AbortSignal) => Promise<AttackReport>, work: () => Promise<Done>) {
  const over = new AbortController();
  const attacking = attack(over.signal);
  const done = await work();
  over.abort();
  return { done, report: await attacking };
}

interface Watched extends Period {
  readonly seen?: Seen;
}

async function watchedBy(bystander: Bystander | undefined, work: () => Promise<Period>): Promise<Watched> {
  if (bystander === undefined) return work();
  const { done, seen } = await bystander.watch(work);
  return { ...done, seen };
}

function seenBy(alone: readonly Watched[], attacked: readonly Watched[]) {
  const nineOfTen = (periods: readonly Watched[], of: (seen: Seen) => readonly number[]) =>
    percentile(
      periods.flatMap(({ seen }) => (seen === undefined ? [] : of(seen))),
      0.9,
    );
  if (alone[0]?.seen === undefined) return {};
  return {
    readsMs: nineOfTen(attacked, ({ readsMs }) => readsMs),
    readsAloneMs: nineOfTen(alone, ({ readsMs }) => readsMs),
    deliveriesMs: nineOfTen(attacked, ({ deliveriesMs }) => deliveriesMs),
    deliveriesAloneMs: nineOfTen(alone, ({ deliveriesMs }) => deliveriesMs),
  };
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

function medianP99(rounds: readonly Period[]): number {
  const found = rounds.map(({ times }) => percentile(times, 0.99)).toSorted((one, other) => one - other);
  const middle = (found.length - 1) / 2;
  return ((found[Math.floor(middle)] ?? 0) + (found[Math.ceil(middle)] ?? 0)) / 2;
}

function percentile(times: readonly number[], share: number): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? 0;
}
