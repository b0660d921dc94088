import { waitUntil } from '@eligo/testkit';
import type { RunningShop } from '../crashes/running-shop.ts';
import { type Kept, type Offer, sellByWallClock } from './kinds.ts';
import type { Progress } from './progress.ts';
import type { WallClock } from './wall-clock.ts';

/** Subscriptions by the wall clock that turn out not to have been renewed for so many periods, a part of them at a time. */
export interface OverduePlan {
  readonly subscriptions: number;
  readonly periods: number;
  /** From the beginning on, one after the other. */
  readonly waves: number;
}

/** Subscriptions that are to be made overdue together, when this share of the work is done. */
export interface Wave {
  readonly share: number;
  readonly kept: readonly Kept[];
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** Sells them. Their periods in the model are those that they will have. */
export async function openWaves(running: RunningShop, offer: Offer, plan: OverduePlan): Promise<Wave[]> {
  const waves: Wave[] = [];
  for (let wave = 0; wave < plan.waves; wave++) {
    const kept: Kept[] = [];
    for (let place = wave; place < plan.subscriptions; place += plan.waves) {
      const { days = 0, ...sold } = await sellByWallClock(running, offer, place);
      const ageMs = plan.periods * days * dayMs + hourMs;
      const anchor = new Date(sold.anchor.getTime() - ageMs);
      kept.push({ ...sold, days, anchor, soldAt: sold.anchor });
    }
    waves.push({ share: wave / plan.waves, kept });
  }
  return waves;
}

/** Makes wave after wave overdue while the lanes go on, as if billing had been down; the job renews them in groups. Resolves when all has been made up. */
export async function makeUp(
  { eligo }: RunningShop,
  waves: readonly Wave[],
  progress: Progress,
  wallClock: WallClock,
): Promise<void> {
  const { admin } = eligo.database;
  for (const { share, kept } of waves) {
    await progress.reaches(share);
    const rows = kept.map(({ id, anchor, days = 0 }) => ({
      id,
      anchor,
      ended: new Date(anchor.getTime() + days * dayMs),
    }));
    // The guards refuse a period that goes back.
    await admin(
      `with off as materialized (select set_config('session_replication_role', 'replica', true))
       update billing.subscriptions s set anchor = t.anchor, current_period_start = t.anchor, current_period_end = t.ended, due_at = t.ended,
         work_at = t.ended, version = s.version + 1
       from off, jsonb_to_recordset($1) as t (id text, anchor timestamptz, ended timestamptz) where s.id = t.id`,
      [JSON.stringify(rows)],
    );
  }
  await progress.over;
  const left = async () => {
    const [row] = await admin<{ n: number }>(
      // The clock of the processes is ahead of the database's; the next period is further away.
      `select count(*)::int as n from billing.subscriptions where test_clock_id is null and due_at <= now() + interval '9 days'`,
    );
    // Some wait to be asked for again by a clock that jumped.
    if (row?.n !== 0) wallClock.goAhead();
    return row?.n;
  };
  await waitUntil(async () => (await left()) === 0, {
    withinMs: 600_000,
    everyMs: 1_000,
    what: 'all periods to be made up',
  });
}
