import { allRoutes, type JsonObject, type Route } from '@eligo/contract';
import { exampleBody } from './example-bodies.ts';
import { Findings, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { isRefusal, pathOf, type Reply, send } from './send.ts';

/**
 * What gives a server that trusts its input a 5xx, on every route (the corpus): each is refused by a 4xx of the contract's shape, or is harmless
 * where the route has no use for it. Nothing is ever a 5xx, and no answer takes more than 5 s.
 */
export async function probeBadInput(target: ProbeTarget): Promise<ProbeReport> {
  const findings = new Findings();
  for (const route of allRoutes) {
    const cases = route.method === 'GET' ? queryCases(route) : bodyCases(route, target);
    for (const { what, refused, ...sent } of cases) {
      const startedAt = performance.now();
      const reply = await send(target.url, {
        method: route.method,
        key: target.testKey,
        ...sent,
        path: at(route, target, sent.path),
      });
      findings.sent();
      const told = `${route.id}, ${what}: ${reply.status} ${reply.text.slice(0, 200)}`;
      findings.expect(reply.status < 500, told);
      findings.expect(performance.now() - startedAt < 5_000, `${told} (too slow)`);
      if (refused) findings.expect(reply.status >= 400, `${told} (not refused)`);
      if (reply.status >= 400)
        findings.expect(isRefusal(reply.status, reply.json), `${told} (not the contract's shape)`);
      findings.expect(isJson(reply), `${told} (no JSON or no request id)`);
    }
  }
  await probeMethods(target, findings);
  return findings.report();
}

interface Case {
  readonly what: string;
  /** Whether it must be a 4xx; else it may be ignored. */
  readonly refused: boolean;
  readonly path?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

const badLimits = [
  'abc',
  '1e3',
  '-1',
  '0',
  '',
  '99999999999999999999',
  '%E0%A4%A',
  '1&limit=2',
  '1.5',
  '%00',
  '%20',
  '1%0a',
];

function queryCases(route: Route): Case[] {
  const isList = route.query !== undefined;
  return [
    ...badLimits.map((limit) => ({ what: `limit=${limit}`, refused: isList, path: `?limit=${limit}` })),
    ...[-1, 10_001, '1e2'].map((offset) => ({ what: `offset=${offset}`, refused: isList, path: `?offset=${offset}` })),
    { what: 'a cursor that is none', refused: isList, path: '?starting_after=nonsense' },
    { what: 'a cursor of another kind', refused: isList, path: '?ending_before=forg_01kdy9q2twabcdefghjkmnpqrs' },
    { what: 'a NUL in a filter', refused: isList, path: '?customer_email=a%00b' },
    { what: 'a prototype in the query', refused: isList, path: '?__proto__[limit]=1' },
    { what: 'a thousand and one parameters', refused: isList, path: `?${'a=1&'.repeat(1_001)}b=1` },
    { what: 'deep brackets', refused: false, path: `?a${'[b]'.repeat(200)}=1` },
    { what: 'a card number in the query', refused: isList, path: '?email=4242424242424242' },
    { what: 'expansion of what is not there', refused: false, path: '?expand=nothing,,%00&expand[a]=b&expand_x=true' },
    { what: 'a stray percent', refused: false, path: '?x=%' },
  ];
}

function bodyCases(route: Route, target: ProbeTarget): Case[] {
  const good = exampleBody(route, target.references);
  const json = JSON.stringify(good ?? {});
  const takesBody = good !== undefined;
  const envelope = route.body?.envelope ?? undefined;
  return [
    { what: 'malformed JSON', refused: true, body: '{"a":' },
    { what: 'JSON after JSON', refused: true, body: `${json}{}` },
    { what: 'a JSON array', refused: takesBody, body: '[1]' },
    { what: 'a JSON string', refused: takesBody, body: '"text"' },
    { what: 'JSON null', refused: takesBody, body: 'null' },
    { what: 'an empty body', refused: takesBody && !route.body?.optional, body: '' },
    {
      what: 'bytes that are not UTF-8',
      refused: true,
      body: new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    },
    { what: 'a body said to be gzip', refused: true, body: json, headers: { 'content-encoding': 'gzip' } },
    {
      what: 'a charset that is none',
      refused: true,
      body: json,
      headers: { 'content-type': 'application/json; charset=bogus' },
    },
    { what: 'a form', refused: true, body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { what: 'text', refused: true, body: json, headers: { 'content-type': 'text/plain' } },
    { what: 'two megabytes', refused: true, body: `{"a":"${'x'.repeat(2_000_000)}"}` },
    { what: 'a hundred thousand levels', refused: true, body: `${'['.repeat(100_000)}${']'.repeat(100_000)}` },
    { what: 'a prototype', refused: true, body: '{"__proto__":{"a":1}}' },
    { what: 'a NUL in an unknown field', refused: true, body: '{"x":"a\\u0000b"}' },
    { what: 'a lone surrogate in an unknown field', refused: true, body: '{"x":"\\ud800"}' },
    { what: 'a card number in an unknown field', refused: true, body: '{"x":"4242 4242 4242 4242"}' },
    ...(envelope === undefined ? [] : envelopeCases(envelope, route)),
    ...fieldCases(route, good),
  ];
}

function envelopeCases(envelope: string, route: Route): Case[] {
  const refused = !route.body?.optional;
  return [
    { what: 'a null envelope', refused, body: JSON.stringify({ [envelope]: null }) },
    { what: 'a number for the envelope', refused: true, body: JSON.stringify({ [envelope]: 1 }) },
    { what: 'a list for the envelope', refused: true, body: JSON.stringify({ [envelope]: [1] }) },
    { what: 'another envelope', refused: true, body: JSON.stringify({ nothing: {} }) },
  ];
}

/** Values that no field of another type takes. */
const wrongNumbers = [
  '1.5',
  '-1',
  '1e400',
  '9007199254740993',
  '9223372036854775808',
  '2147483648',
  '{}',
  '[1]',
  'true',
  '-0',
];
const wrongTexts = ['"\\u0000"', '"\\ud800"', '"4242424242424242"', '{"a":1}', '[[]]', '1'];

// Every field of the example, one at a time, with each wrong value; also every text of a map.
function fieldCases(_route: Route, good: JsonObject | undefined): Case[] {
  if (good === undefined) return [];
  const text = JSON.stringify(good);
  const cases: Case[] = [];
  for (const [, name, value] of text.matchAll(/"(\w+)":("(?:[^"\\]|\\.)*"|-?\d+|true|false)/g)) {
    if (name === undefined || value === undefined) continue;
    const wrong = value.startsWith('"') ? wrongTexts : wrongNumbers;
    for (const bad of wrong) {
      // Unix seconds are a time as well.
      const isTime = bad === '1' && name === 'frozen_time';
      const exempt = bad.includes('4242') && ['client_reference_id', 'gtin', 'upc_code', 'phone'].includes(name);
      const may = isTime || exempt || bad === '-0' || bad === '2147483648' || (value.length <= 5 && bad === value);
      cases.push({
        what: `${name}: ${bad}`,
        refused: !may,
        body: text.replace(`"${name}":${value}`, `"${name}":${bad}`),
      });
    }
  }
  return cases;
}

// Methods that HTTP knows and a path does not take are 405, never 501; paths that are none are 404.
async function probeMethods(target: ProbeTarget, findings: Findings): Promise<void> {
  const key = target.testKey;
  for (const path of new Set(allRoutes.map((route) => at(route, target)))) {
    for (const method of ['OPTIONS', 'PROPFIND', 'LOCK']) {
      const reply = await send(target.url, { method, path, key });
      findings.sent();
      findings.expect(reply.status === 405 && isRefusal(405, reply.json), `${method} ${path}: ${reply.status}`);
      findings.expect(reply.headers.get('allow') !== null, `${method} ${path}: no Allow header`);
    }
  }
  for (const path of [
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1//prices',
    '/v1/prices/a/b/c',
    '/v1/prices/%00',
    '/v1/prices/%',
    '/nothing',
  ]) {
    const reply = await send(target.url, { method: 'GET', path, key });
    findings.sent();
    findings.expect(reply.status === 404 && isRefusal(404, reply.json), `GET ${path}: ${reply.status} ${reply.text}`);
  }
}

function at(route: Route, { own }: ProbeTarget, query = ''): string {
  return pathOf(route, (route.seed && own[route.seed]) || '') + query;
}

function isJson(reply: Reply): boolean {
  return (
    reply.json !== undefined &&
    reply.headers.get('content-type') === 'application/json; charset=utf-8' &&
    reply.headers.get('request-id') !== null
  );
}
