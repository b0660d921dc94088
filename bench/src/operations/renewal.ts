import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bench, sharedSide } from '../bench.ts';
import type { WriteCosts } from '../costs/write-costs.ts';
import { quiet } from '../quiet.ts';
import { requestText } from '../requests.ts';
import { type Compared, compare, type Round, type Side } from '../rounds.ts';
import { startBilling } from '../second-billing.ts';
import { priceIdAt } from '../seed/prices.ts';
import { countRenewed, makeDue, type Renewals, whenRenewed } from '../seed/renewals.ts';
import { memoryOf } from './idle.ts';
import { firstPage } from './list-prices.ts';
import { floorIsFaster, openFloor } from './open-floor.ts';
import { renewedMeanwhile } from './renewed-meanwhile.ts';
import { costsOfRunning } from './write-costs.ts';

/** A hundred thousand subscriptions are due: how fast they are renewed and paid, against the least that a renewal must make durable. */
export const renewalAgainstFloor =
  (form: 'bare' | 'calls') =>
  async (bench: Bench): Promise<WithCosts> => {
    const { sizes, postgres } = bench;
    const floor = await openFloor(bench, form);
    const perConnection = Math.ceil((sizes.perRound * floorIsFaster) / sizes.connections);
    await makeDue(postgres, await bench.renewals(), largest(bench));
    await whenRenewed(postgres, sizes.connections);
    const compared = await compare(
      renewing(bench),
      // What is in flight at the processor waits for less than its deadline.
      { round: () => bench.frozen(() => floor.ask('run', { operation: 'renewal', perConnection })) },
      { rounds: sizes.rounds, warmUp: sizes.warmUp.writes },
    );
    // Both forms renew alike, while subscriptions are due.
    const isCosted = form === 'bare' && existsSync('/proc/self/stat');
    const costs = isCosted ? { costs: await costsOfRunning(bench, () => renewing(bench).round()) } : {};
    await nothingDue(bench);
    return { ...compared, ...costs };
  };

type WithCosts = Compared & { readonly costs?: WriteCosts };

/** As fast when all are due as when a hundredth is. */
export async function renewalFlat(bench: Bench): Promise<Compared> {
  return compareDue(bench, ({ round }) => round());
}

/** Eligo's memory when all are due, against its memory when a hundredth is, in megabytes. */
export async function renewalMemory(bench: Bench): Promise<Compared> {
  return compareDue(bench, async (renews) => {
    const { count } = await renews.round();
    const megabytes = memoryOf(bench.stack.ownPids());
    if (megabytes === undefined) throw new Error('Only Linux tells how much memory a process has to itself');
    return { count, perSecond: megabytes };
  });
}

async function compareDue(bench: Bench, roundOf: (renews: Side) => Promise<Round>): Promise<Compared> {
  const { sizes, postgres } = bench;
  const renewals = await bench.renewals();
  const side = (due: number): Side => ({
    async round() {
      await makeDue(postgres, renewals, due);
      await whenRenewed(postgres, sizes.connections);
      // Of few, some are left at the end: with nothing due the rate would be of the wait.
      return roundOf(renewing(bench, Math.max(1, Math.floor(due * 0.8) - sizes.connections)));
    },
  });
  const [few, all] = sizes.renewals;
  const compared = await compare(side(all), side(few), { rounds: sizes.rounds, warmUp: sizes.warmUp.writes });
  await nothingDue(bench);
  return compared;
}

/** Two instances of billing against one, with a processor that takes 200 ms for each call, so that each instance is held back by what it does at once. */
export async function renewalTwo(bench: Bench): Promise<Compared> {
  const { sizes, postgres } = bench;
  await makeDue(postgres, await bench.renewals(), largest(bench));
  await bench.slowProcessor(slowMs);
  try {
    await whenRenewed(postgres, sizes.connections);
    const one = renewing(bench);
    return await compare(
      {
        async round() {
          const second = await startBilling(bench.stack);
          try {
            await whenRenewed(postgres, sizes.connections * 4);
            return await one.round();
          } finally {
            await second.stop(60_000);
          }
        },
      },
      one,
      { rounds: sizes.rounds, warmUp: 1 },
    );
  } finally {
    await bench.slowProcessor(0);
    await nothingDue(bench);
  }
}

/** Reads of the API while subscriptions are renewed at a processor that takes 200 ms, against the same reads while none is. */
export const readsMeanwhile =
  (kind: 'read-price' | 'list-prices' | 'list-subscriptions' | 'list-invoices') => async (bench: Bench) => {
    const { sizes, stack, postgres } = bench;
    const renewals = await bench.renewals();
    const texts = await textsOf(bench, kind, renewals);
    const reads = sharedSide(bench, stack.port, texts);
    await bench.slowProcessor(slowMs);
    try {
      return await compare(
        {
          async round() {
            await makeDue(postgres, renewals, largest(bench));
            await whenRenewed(postgres, sizes.connections);
            return reads.round();
          },
        },
        {
          async round() {
            await nothingDue(bench);
            return reads.round();
          },
        },
        { rounds: sizes.rounds, warmUp: sizes.warmUp.reads },
      );
    } finally {
      await bench.slowProcessor(0);
      await nothingDue(bench);
    }
  };

async function textsOf(bench: Bench, kind: string, { apiKey: renewing }: Renewals): Promise<string[]> {
  // The lists are of an account whose subscriptions are renewed meanwhile.
  if (kind === 'list-subscriptions') return [requestText('GET', '/v1/subscriptions?limit=10', renewing)];
  if (kind === 'list-invoices') return [requestText('GET', '/v1/invoices?limit=10', renewing)];
  const { apiKey } = await bench.priceAccount(0);
  if (kind === 'list-prices') return [requestText('GET', firstPage, apiKey)];
  const random = () => 1 + Math.floor(Math.random() * bench.sizes.prices[0]);
  return Array.from({ length: 2_000 }, () => requestText('GET', `/v1/prices/${priceIdAt(random())}`, apiKey));
}

const slowMs = 200;

function largest({ sizes }: Bench): number {
  return sizes.renewals[1];
}

/** A round of renewals, of twice `--seconds`; with `enough` it ends once that many are paid. */
function renewing({ sizes, postgres }: Bench, enough?: number): Side {
  const watch = { count: () => countRenewed(postgres), pause, now: () => performance.now() };
  return { round: () => renewedMeanwhile(watch, { forMs: sizes.seconds * 2_000, enough }) };
}

// What was taken already is renewed first.
async function nothingDue(bench: Bench): Promise<void> {
  const { postgres } = bench;
  await makeDue(postgres, await bench.renewals(), 0);
  let before = -1;
  for (let now = await countRenewed(postgres); now !== before; now = await countRenewed(postgres)) {
    before = now;
    await pause(1_500);
  }
  await quiet(postgres);
}
