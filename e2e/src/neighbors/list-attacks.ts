import { mostReportDays, type Route } from '@eligo/contract';
import { type Attack, sharedBy } from './attack.ts';
import { fillLists } from './fill-lists.ts';
import { flood, type Prepared } from './flood.ts';
import { listPaths, type NamedInPaths } from './list-paths.ts';
import { get, send } from './prepared.ts';

const fullLists = sharedBy(fillLists);

/** Full pages of every list, and the report with the most days. */
export const listAttacks: readonly Attack[] = [
  sending('every list, 100 records a page', (named) => [...listPaths(named), ...reportPaths()]),
  // An answer holds the records that each of its hundred names.
  sending('every list, 100 records a page, all expanded', (named) => listPaths(named, expandAll)),
];

function sending(name: string, pathsOf: (named: NamedInPaths) => readonly string[]): Attack {
  return {
    name,
    async prepare(account) {
      const requests: readonly Prepared[] = pathsOf(await fullLists(account)).map(get);
      return (signal) =>
        flood(signal, account.perSecond * 1.2, (count) =>
          send(account.api, requests[count % requests.length] as Prepared),
        );
    },
  };
}

function expandAll({ expansion }: Route): string | undefined {
  return expansion.size === 0 ? undefined : `&expand=${[...expansion.keys()].join(',')}`;
}

// From today on: each day after the first movement names every account of the ledger.
function reportPaths(): readonly string[] {
  const dayAfter = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const days = `from=${dayAfter(0)}&to=${dayAfter(mostReportDays - 1)}`;
  return [`/v1/reports/reconciliation?${days}`, `/v1/reports/reconciliation?${days}&format=csv`];
}
