import { allRoutes, codesOf } from '@eligo/contract';
import { type FailureCode, failureTable } from '@eligo/failures';

/** The page of all codes that a route declares: status, text, remedy and where they occur. */
export function codesPage(): string {
  const declared = declaredCodes();
  const others = (Object.keys(failureTable) as FailureCode[]).filter((code) => !declared.has(code));
  return [
    '# Error codes',
    '',
    'This page lists every code that an endpoint declares, its text and what to do about it. A coded error is `{code, detail}`; in a 422 list, the code',
    'is the `type` of an entry. `npm run trace` writes this page; `npm run check` fails if no test of a public request names a code.',
    '',
    '| Code | Status | Detail | Remedy | Retry | Endpoints |',
    '| --- | --- | --- | --- | --- | --- |',
    ...[...declared].sort(byStatus).map(([code, routes]) => row(code, routes)),
    '',
    '## Not declared by an endpoint',
    '',
    'Responses to requests outside the contract, internal errors, and codes of endpoints that are not implemented yet:',
    `${others.map((code) => `\`${code}\` (${failureTable[code].status})`).join(', ')}.`,
    '',
  ].join('\n');
}

/** Declared codes that none of these tests names. */
export function untestedCodes(tests: readonly string[]): string[] {
  const named = new Set(tests.flatMap((text) => text.match(/\b[a-z]+(?:_[a-z]+)*\b/g) ?? []));
  return [...declaredCodes().keys()]
    .filter((code) => !named.has(code))
    .map((code) => `no test of a public request names ${code}`);
}

const advice = { never: 'no', after_change: 'after a change', same_request: 'yes, unchanged' } as const;

function row(code: FailureCode, routes: readonly string[]): string {
  const { status, detail, remedy, retry } = failureTable[code];
  const places = routes.length > 4 ? `${routes.length} endpoints` : routes.map((id) => `\`${id}\``).join(', ');
  return `| \`${code}\` | ${status} | ${detail} | ${remedy} | ${advice[retry]} | ${places} |`;
}

function byStatus([a]: [FailureCode, unknown], [b]: [FailureCode, unknown]): number {
  return failureTable[a].status - failureTable[b].status || (a < b ? -1 : 1);
}

function declaredCodes(): Map<FailureCode, string[]> {
  const declared = new Map<FailureCode, string[]>();
  for (const route of allRoutes) {
    for (const code of new Set<FailureCode>([...codesOf(route), ...route.violations])) {
      declared.set(code, [...(declared.get(code) ?? []), route.id]);
    }
  }
  return declared;
}
