import { fieldNamesOf, type JsonObject, type Route } from '@eligo/contract';
import { z } from 'zod';
import { exampleBody } from './example-bodies.ts';
import type { ProbeTarget } from './probe-target.ts';

/** A request that gives a server that trusts its input a 5xx. */
export interface CorpusCase {
  readonly what: string;
  /** Whether it must be a 4xx; else it may be ignored. */
  readonly refused: boolean;
  readonly path?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

/** The corpus for a route: in its query where it is a read, else in its body. */
export function corpusOf(route: Route, target: ProbeTarget): CorpusCase[] {
  return route.method === 'GET' ? queryCases(route) : bodyCases(route, target);
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

// Made once: a fuzz asks for the corpus of every route again and again.
const twoMegabytes = `{"a":"${'x'.repeat(2_000_000)}"}`;
const manyLevels = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const manyFaults = Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [`k${at}`, at]));

function queryCases(route: Route): CorpusCase[] {
  const isList = route.query instanceof z.ZodObject && 'limit' in route.query.shape;
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

function bodyCases(route: Route, target: ProbeTarget): CorpusCase[] {
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
    { what: 'two megabytes', refused: true, body: twoMegabytes },
    { what: 'a hundred thousand levels', refused: true, body: manyLevels },
    { what: 'a prototype', refused: true, body: '{"__proto__":{"a":1}}' },
    { what: 'a NUL in an unknown field', refused: true, body: '{"x":"a\\u0000b"}' },
    { what: 'a lone surrogate in an unknown field', refused: true, body: '{"x":"\\ud800"}' },
    { what: 'a card number in an unknown field', refused: true, body: '{"x":"4242 4242 4242 4242"}' },
    ...(envelope === undefined ? [] : envelopeCases(envelope, route)),
    ...(takesMetadata(route) ? [faultyMetadata(envelope, good)] : []),
    ...fieldCases(good),
  ];
}

function envelopeCases(envelope: string, route: Route): CorpusCase[] {
  const refused = !route.body?.optional;
  return [
    { what: 'a null envelope', refused, body: JSON.stringify({ [envelope]: null }) },
    { what: 'a number for the envelope', refused: true, body: JSON.stringify({ [envelope]: 1 }) },
    { what: 'a list for the envelope', refused: true, body: JSON.stringify({ [envelope]: [1] }) },
    { what: 'another envelope', refused: true, body: JSON.stringify({ nothing: {} }) },
  ];
}

function takesMetadata({ body }: Route): boolean {
  return body !== undefined && fieldNamesOf(body.schema).includes('metadata');
}

// A server that compares its findings with each other is busy with these for longer than anybody waits.
function faultyMetadata(envelope: string | undefined, good: JsonObject | undefined): CorpusCase {
  const inside = envelope === undefined ? good : (good?.[envelope] as JsonObject | undefined);
  const fields = { ...inside, metadata: manyFaults };
  const body = JSON.stringify(envelope === undefined ? fields : { [envelope]: fields });
  return { what: 'thousands of faults', refused: true, body };
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
function fieldCases(good: JsonObject | undefined): CorpusCase[] {
  if (good === undefined) return [];
  const text = JSON.stringify(good);
  const cases: CorpusCase[] = [];
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
