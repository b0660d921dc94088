import { allRoutes, type JsonObject, type Route } from '@eligo/contract';
import fc from 'fast-check';
import { z } from 'zod';
import { anyText, arbitraryOf, trickyTexts } from './arbitrary-of.ts';
import { type CorpusCase, corpusOf } from './corpus.ts';
import { exampleBody } from './example-bodies.ts';
import type { ProbeTarget } from './probe-target.ts';
import { pathOf } from './send.ts';
import { arbitraryForm, exampleContent } from './upload.ts';

/** A random request to a route. */
export interface FuzzRequest {
  readonly route: Route;
  readonly path: string;
  readonly body?: CorpusCase['body'];
  readonly headers?: CorpusCase['headers'];
}

/**
 * As many requests as asked for, evenly over all routes: for each a plain one that the route accepts, then random ones. Equal seeds give equal requests, but for the identifiers of the records that
 * the target names. What ends a record comes last, so that the others meet it alive.
 */
export function fuzzRequests(
  target: ProbeTarget,
  { requests, seed }: { requests: number; seed: number },
): FuzzRequest[] {
  const ids = [...Object.values(target.own), ...unknownIds];
  const planned = allRoutes.flatMap((route, at) => {
    const share = Math.floor(requests / allRoutes.length) + (at < requests % allRoutes.length ? 1 : 0);
    if (share === 0) return [];
    // Mixed, because fast-check's own generator gives neighbouring seeds neighbouring first values.
    const mixed = Math.imul(seed + at * 0x61c88647, 0x9e3779b1);
    const random = fc.sample(requestOf(route, target, ids), { numRuns: share - 1, seed: mixed });
    return [plainRequest(route, target), ...random].map((sample, turn) => ({
      turn: turn + (endsRecord(route) ? requests : 0),
      made: { ...sample, route },
    }));
  });
  return planned.sort((a, b) => a.turn - b.turn).map(({ made }) => made);
}

// Identifiers as ours are, of nothing.
const unknownIds = ['fprice_01kdy9q2twabcdefghjkmnpqrs', 'fcus_01kdy9q2twabcdefghjkmnpqrs'];

function endsRecord({ method, id }: Route): boolean {
  return method === 'DELETE' || /\.(cancel|expire|detach|complete_checkout_session)$/.test(id);
}

function requestOf(
  route: Route,
  target: ProbeTarget,
  ids: readonly string[],
): fc.Arbitrary<Omit<FuzzRequest, 'route'>> {
  const path = pathFor(route, target, ids);
  const made =
    route.body?.file === undefined
      ? fc.record({ path, body: bodyFor(route, target, ids) })
      : fc.tuple(path, arbitraryForm()).map(([to, content]) => ({ path: to, ...content }));
  const own = pathOf(route, (route.seed && target.own[route.seed]) || '');
  const known = fc
    // Megabytes cost more than all else here; the corpus is also sent as a whole, by probeBadInput.
    .constantFrom(...corpusOf(route, target).filter(({ body }) => (body?.length ?? 0) < 10_000))
    .map(({ path = '', body, headers }) => ({ path: own + path, body, ...(headers === undefined ? {} : { headers }) }));
  return fc.oneof({ arbitrary: made, weight: 9 }, { arbitrary: known, weight: 1 });
}

function plainRequest(route: Route, target: ProbeTarget): Omit<FuzzRequest, 'route'> {
  return { path: pathOf(route, recordsOf(route, target)[0] ?? ''), ...exampleContent(route, target.references) };
}

function recordsOf(route: Route, { own, more, ready }: ProbeTarget): readonly string[] {
  if (route.seed === undefined) return [''];
  return [...(ready?.[route.id] ?? []), own[route.seed] ?? '', ...(more?.[route.seed] ?? [])];
}

function pathFor(route: Route, target: ProbeTarget, ids: readonly string[]): fc.Arbitrary<string> {
  const mine = recordsOf(route, target);
  const id = fc.oneof({ arbitrary: fc.constantFrom(...mine), weight: 12 }, fc.constantFrom(...ids, ...trickyTexts));
  const shape: Readonly<Record<string, z.ZodType>> = route.query instanceof z.ZodObject ? route.query.shape : {};
  const known = Object.entries(shape).map(([name, schema]) => fc.tuple(fc.constant(name), queryValue(schema, ids)));
  const junk = fc.tuple(
    fc
      .constantFrom(...Object.keys(shape), 'expand', 'expand_customer', 'limit', 'a')
      .chain((name) => fc.constantFrom(name, `${name}[]`, `${name}[0]`, `${name}[a]`, `${name}[a][b]`)),
    fc.oneof(fc.constantFrom(...ids, ...trickyTexts), fc.string({ maxLength: 20 })),
  );
  const expansion = [...route.expansion.keys(), 'nothing'];
  const expand = fc.tuple(
    fc.constant('expand'),
    fc.subarray(expansion).map((keys) => keys.join(',')),
  );
  const pair = fc.oneof(
    ...known.map((arbitrary) => ({ arbitrary, weight: 2 })),
    { arbitrary: expand, weight: 2 },
    junk,
  );
  return fc.tuple(id, fc.array(pair, { maxLength: 3 })).map(([named, pairs]) => {
    const query = pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`).join('&');
    return pathOf(route, encode(named)) + (query === '' ? '' : `?${query}`);
  });
}

// A parameter is a text; what it may say stands in the schema where that is a choice.
function queryValue(schema: z.ZodType, ids: readonly string[]): fc.Arbitrary<string> {
  const usual = fc.constantFrom(...ids, '1', '10', '100', 'true', '2026-01-01T00:00:00Z');
  const choices = choicesOf(schema);
  if (choices !== undefined) return fc.oneof({ arbitrary: fc.constantFrom(...choices), weight: 6 }, usual, anyText);
  return fc.oneof({ arbitrary: usual, weight: 4 }, anyText);
}

function choicesOf(schema: z.ZodType): readonly string[] | undefined {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return choicesOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return choicesOf(schema.in as z.ZodType);
  return undefined;
}

function bodyFor(route: Route, target: ProbeTarget, ids: readonly string[]): fc.Arbitrary<string | undefined> {
  if (route.method === 'GET') return fc.constant(undefined);
  const junk = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.string({ maxLength: 40 }),
  );
  const { body } = route;
  if (body === undefined) return fc.option(junk, { nil: undefined });
  const written = (value: unknown) => JSON.stringify(body.envelope === null ? value : { [body.envelope]: value });
  return fc.oneof(
    { arbitrary: arbitraryOf(body.schema, ids).map(written), weight: 5 },
    { arbitrary: changedExample(route, target, ids).map(written), weight: 10 },
    { arbitrary: junk, weight: 1 },
  );
}

// A body that is accepted, with a few of its fields as the schema would have them, or as it would not: these get the furthest.
function changedExample(route: Route, target: ProbeTarget, ids: readonly string[]): fc.Arbitrary<JsonObject> {
  const { body } = route;
  const shape = body?.schema instanceof z.ZodObject ? body.schema.shape : {};
  const fields = Object.entries(shape).map(([name, schema]) =>
    fc.tuple(fc.constant(name), arbitraryOf(schema as z.ZodType, ids)),
  );
  const changes = fields.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...fields), { maxLength: 3 });
  // Names and codes must be new each time; a shopper's money goes back and forth at a cent.
  return changes.map((made) => ({ ...inside(route, target), ...Object.fromEntries(made) }) as JsonObject);
}

function inside(route: Route, target: ProbeTarget): JsonObject {
  const example = exampleBody(route, target.references) ?? {};
  const envelope = route.body?.envelope ?? undefined;
  return envelope === undefined ? example : (example[envelope] as JsonObject);
}

// A lone surrogate cannot be percent-encoded; as U+FFFD it is a text like any other.
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
