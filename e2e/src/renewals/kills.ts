import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../chaos/random.ts';
import { recovered } from '../crashes/run-confirm-crash.ts';
import { renewalCrashes } from '../crashes/run-renewal-crash.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import type { FaultyProcessor } from './faulty-processor.ts';
import type { Progress } from './progress.ts';

/** How many processes die while the clocks go on, and after how many passes of their failpoint at most. */
export interface KillPlan {
  readonly kills: number;
  readonly mostPasses: number;
  /** These processes die, and no other: each at any time, whatever it does then. */
  readonly atAnyTime?: readonly string[];
}

/** How often something died, by the failpoint or the process. */
export type Kills = Readonly<Record<string, number>>;

/** Where a process dies while it sells, changes or collects, beside renewals: passed less often. */
const rarePoints = [
  ...['subscription.items_priced', 'invoice.due', 'mail.sent', 'subscription.resolved'],
  ...['subscription.written', 'subscription.charged', 'subscription.changed'],
].map((failpoint) => ({ component: 'billing', failpoint, isRare: true }));

const renewalPoints = new Map(
  renewalCrashes.map(({ component, failpoint }) => [failpoint, { component, failpoint, isRare: false }]),
);

/** The failpoints of a renewal and those beside it, each once, in turn. */
const points = [...renewalPoints.values()].flatMap((point, at) => [point, ...rarePoints.slice(at, at + 1)]);

/** The process is killed wherever it is if it does not come to its failpoint by then. */
const longestWaitMs = 60_000;

/** Die at any time, where each is a process of its own. */
const bystanders = ['gateway', 'catalog', 'refunds', 'webhooks', 'sandbox', 'nats'];

const longestPauseMs = 500;

/** The last kill is armed before this share of the work is done, so that enough is left for it to be passed. */
const lastKillAt = 0.8;

/** Kills one process after the other while the lanes go on: most at a failpoint of billing or of a renewal's charge. Resolves with what died once all kills are done, or the lanes. */
export async function killAlong(
  running: RunningShop,
  random: Random,
  processor: FaultyProcessor,
  { kills, mostPasses, atAnyTime }: KillPlan,
  progress: Progress,
): Promise<Kills> {
  const { eligo } = running;
  const died: Record<string, number> = {};
  const first = random.between(0, points.length - 1);
  for (let kill = 0; kill < kills; kill++) {
    if (!(await progress.reaches((lastKillAt * (kill + random.next())) / kills))) break;
    if (atAnyTime !== undefined || (eligo.topology === 'split' && random.next() < 0.3)) {
      const name = random.pick(atAnyTime ?? bystanders);
      // Somewhere within the next step.
      if (atAnyTime !== undefined) await pause(random.between(0, longestPauseMs));
      if (name === 'sandbox') await processor.forget();
      eligo.kill(name);
      await eligo.recovered();
      died[name] = (died[name] ?? 0) + 1;
      continue;
    }
    // Each failpoint once before any of them twice.
    const { component, failpoint, isRare } = points[(kill + first) % points.length] as (typeof points)[number];
    const skip = isRare ? 0 : random.between(0, mostPasses);
    await eligo.armFailpoint(component, failpoint, { action: 'kill', skip });
    const recovering = recovered(running, failpoint);
    const waiting = new AbortController();
    const came = await Promise.race([
      recovering.then(() => 'there' as const),
      progress.over.then(() => 'over' as const),
      pause(longestWaitMs, 'late' as const, { signal: waiting.signal }),
    ]);
    waiting.abort();
    if (came !== 'there') {
      eligo.kill(component);
      await recovering;
    }
    if (came === 'over') break;
    const name = came === 'there' ? failpoint : component;
    died[name] = (died[name] ?? 0) + 1;
  }
  return died;
}
