import { routes } from '@eligo/contract';
import { maxTimeoutMs } from '@eligo/rpc';
import { type Binding, bind } from '../bind.ts';
import { StreamedAnswer } from '../http/api-request.ts';
import type { Peers } from '../peers.ts';
import { csvOf } from '../reports/reconciliation-csv.ts';
import { jsonOf } from '../reports/reconciliation-json.ts';

/** Reports of the ledger, written as they are read. */
export function reportBindings({ refunds }: Peers): Binding[] {
  return [
    bind(routes.reports.reconciliation, async ({ query, call, key }) => {
      const days = daysOf(query);
      // A slow client has as long as the longest call; it asks for fewer days.
      const items = refunds.reportReconciliation(days, { ...call, timeoutMs: maxTimeoutMs });
      if (query.format === 'json') return new StreamedAnswer(jsonOf({ ...days, testMode: key.caller.testMode }, items));
      const filename = `reconciliation-${days.from}-${days.to}.csv`;
      return new StreamedAnswer(csvOf(items), { type: 'text/csv; charset=utf-8', filename });
    }),
  ];
}

const dayMs = 86_400_000;

function daysOf({ from, to }: { from?: string | undefined; to?: string | undefined }): { from: string; to: string } {
  const yesterday = new Date(Date.now() - dayMs).toISOString().slice(0, 10);
  const one = from ?? to ?? yesterday;
  return { from: one, to: to ?? one };
}
