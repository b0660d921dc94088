import { type Database, unscoped } from '@eligo/postgres';
import type { ProcessorName } from '@eligo/values';

/** The list of movements of one account at a processor. */
export interface Feed {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly processor: ProcessorName;
  readonly processor_account: string;
  readonly begins_at: Date;
  /** The processor's time: what was listed before it is stored. */
  readonly read_from: Date;
  /** Behind the last day that is noted. */
  readonly checked_until: Date | null;
}

export const dayMs = 86_400_000;

const feedsAtOnce = 500;

/** All of them, in the order of their accounts. */
export async function* allFeeds(database: Database): AsyncGenerator<Feed> {
  for (let after: readonly unknown[] = ['', false, 'sandbox', '']; ; ) {
    const feeds: Feed[] = await database.rows(selectFeeds, null, [...after, feedsAtOnce]);
    yield* feeds;
    const last = feeds.at(-1);
    if (last === undefined || feeds.length < feedsAtOnce) return;
    after = keyOf(last);
  }
}

export function keyOf(feed: Feed): unknown[] {
  return [feed.account_id, feed.test_mode, feed.processor, feed.processor_account];
}

/** When its list begins, in milliseconds: the processor's times are whole seconds. */
export function beginningOf({ begins_at }: Feed): number {
  return Math.floor(begins_at.getTime() / 1_000) * 1_000;
}

const selectFeeds = unscoped<Feed>(
  'processor_check.feeds',
  `select f.account_id, f.test_mode, f.processor::text as processor, f.processor_account, f.begins_at, f.read_from,
          (select (max(c.day) + 1)::timestamp at time zone 'UTC' from refunds.checked_days c
            where c.account_id = f.account_id and c.test_mode = f.test_mode and c.processor = f.processor
              and c.processor_account = f.processor_account and c.begins_at <= f.begins_at) as checked_until
     from refunds.ledger_feeds f
    where (f.account_id, f.test_mode, f.processor, f.processor_account) > ($1, $2::boolean, $3::refunds.processor, $4)
    order by f.account_id, f.test_mode, f.processor, f.processor_account limit $5`,
);
