import type { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import type { Implementation } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { daysBetween, RunningBalances } from '../domain/reconciliation.ts';
import { accountMessage, activityMessage, movementMessage } from '../messages/reconciliation.ts';
import { balancesBefore, payoutsOfDay, sumsOfDays, suspenseOfDay } from '../store/reconciliation.ts';

// Days whose sums are held at once: a few dozen rows each.
const daysAtOnce = 31;

/** Reports of the ledger, as the gateway asks for them. */
export function reportHandlers({ database }: Pick<Context, 'database'>): Implementation<typeof RefundsService> {
  return {
    async *reportReconciliation({ from, to }, { scope }) {
      const balances = new RunningBalances(await balancesBefore(database, scope, from));
      const days = [...daysBetween(from, to)];
      for (let first = 0; first < days.length; first += daysAtOnce) {
        const chunk = days.slice(first, first + daysAtOnce);
        const sums = await sumsOfDays(database, scope, chunk[0] ?? from, chunk.at(-1) ?? to);
        for (const date of chunk) {
          const { totals = [], activity = [] } = sums.get(date) ?? {};
          const { accounts, openingCents, closingCents } = balances.next(totals);
          const day = { date, openingCents: BigInt(openingCents), closingCents: BigInt(closingCents) };
          yield { item: { case: 'day', value: day } };
          for (const one of accounts) yield { item: { case: 'account', value: accountMessage(one) } };
          for (const one of activity) yield { item: { case: 'activity', value: activityMessage(one) } };
          if (activity.length === 0) continue;
          for await (const one of payoutsOfDay(database, scope, date)) {
            yield { item: { case: 'payout', value: movementMessage(one) } };
          }
          for await (const one of suspenseOfDay(database, scope, date)) {
            yield { item: { case: 'suspense', value: movementMessage(one) } };
          }
        }
      }
    },
  };
}
