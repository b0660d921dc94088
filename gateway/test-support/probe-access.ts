import { allRoutes, notFoundCodeOf, type Route } from '@eligo/contract';
import { newId } from '@eligo/values';
import { Findings, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { pathOf, type Reply, send } from './send.ts';
import { exampleContent } from './upload.ts';

/** Every route refuses a request without a key, and with keys that cannot be or do not exist, by one and the same 401. */
export async function probeAuthentication(target: ProbeTarget): Promise<ProbeReport> {
  const findings = new Findings();
  let expected: string | undefined;
  const unknown = ['nonsense', `fsk_test_${'0'.repeat(38)}`, flipped(target.testKey)];
  const wrongKeys = [undefined, ...unknown, ...(target.noKeys ?? [])];
  for (const route of allRoutes) {
    for (const key of wrongKeys) {
      const reply = await ask(target, route, { key });
      findings.sent();
      expected ??= reply.text;
      const what = `${route.id} with ${key === undefined ? 'no key' : 'a wrong key'}`;
      findings.expect(reply.status === 401, `${what}: ${reply.status} instead of 401`);
      findings.expect(reply.text === expected, `${what}: another body than the other 401s`);
    }
  }
  return findings.report();
}

/** Every route refuses a key that lacks its scope, and a test helper a live key: 403, before anything is looked up. */
export async function probeScopes(target: ProbeTarget): Promise<ProbeReport> {
  const findings = new Findings();
  for (const route of allRoutes) {
    const scopeless = await ask(target, route, { key: target.scopelessKey });
    findings.sent();
    findings.expect(codeIs(scopeless, 403, 'insufficient_scope'), `${route.id} without its scope: ${told(scopeless)}`);
    if (!route.testOnly) continue;
    const live = await ask(target, route, { key: target.liveKey });
    findings.sent();
    findings.expect(codeIs(live, 403, 'test_mode_required'), `${route.id} with a live key: ${told(live)}`);
  }
  return findings.report();
}

/**
 * Every route that names a record answers its owner, and refuses an unknown one, one of another account, one of the account's other mode and a
 * malformed one by byte-equal 404s. Fails for a route whose kind of record is not seeded. The owner's own answer comes first.
 */
export async function probeForeignRecords(target: ProbeTarget): Promise<ProbeReport> {
  const findings = new Findings();
  // Reads go first: a write may end the record that they read.
  const routes = [...allRoutes].sort((a, b) => rank(a) - rank(b));
  for (const route of routes) {
    if (route.seed === undefined) continue;
    const own = target.own[route.seed];
    if (own === undefined) {
      findings.expect(false, `${route.id}: no ${route.seed} is seeded`);
      continue;
    }
    const mine = await ask(target, route, { key: target.testKey, id: own });
    findings.sent();
    // A write may be refused for the state of what it names; that it is not found would be wrong.
    const isFound = mine.status < 500 && !codeIs(mine, 404, notFoundCodeOf(route.seed));
    const answered = route.method === 'GET' ? mine.status === 200 : isFound;
    findings.expect(answered, `${route.id} for its owner: ${told(mine)}`);
    const unknown = await ask(target, route, { key: target.testKey, id: newId(route.seed) });
    findings.sent();
    findings.expect(codeIs(unknown, 404, notFoundCodeOf(route.seed)), `${route.id} unknown: ${told(unknown)}`);
    const others = [
      ['of another account', { key: target.foreignKey, id: own }],
      ...(route.testOnly ? [] : [['of the other mode', { key: target.liveKey, id: own }] as const]),
      ['malformed', { key: target.testKey, id: `${own}x` }],
      ['with a NUL', { key: target.testKey, id: `${own.slice(0, -1)}%00` }],
    ] as const;
    for (const [what, asked] of others) {
      const reply = await ask(target, route, asked);
      findings.sent();
      findings.expect(reply.status === 404 && reply.text === unknown.text, `${route.id} ${what}: ${told(reply)}`);
    }
  }
  return findings.report();
}

async function ask(
  target: ProbeTarget,
  route: Route,
  { key, id }: { key: string | undefined; id?: string },
): Promise<Reply> {
  const { body, headers } = exampleContent(route, target.references);
  const named = id ?? (route.seed === undefined ? '' : newId(route.seed));
  return send(target.url, {
    method: route.method,
    path: pathOf(route, named),
    key,
    body,
    headers: route.idempotency === 'ignored' ? headers : { ...headers, 'idempotency-key': crypto.randomUUID() },
  });
}

function rank({ method }: Route): number {
  return method === 'GET' ? 0 : method === 'DELETE' ? 2 : 1;
}

// The same length and form, and a CRC that does not fit.
function flipped(key: string): string {
  return key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
}

function codeIs(reply: Reply, status: number, code: string): boolean {
  return reply.status === status && (reply.json as { code?: unknown } | undefined)?.code === code;
}

function told(reply: Reply): string {
  return `${reply.status} ${reply.text.slice(0, 200)}`;
}
