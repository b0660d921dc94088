import { allRoutes, type Route } from '@eligo/contract';
import { newId } from '@eligo/values';
import fc from 'fast-check';
import { z } from 'zod';
import { arbitraryOf, trickyTexts } from './arbitrary-of.ts';
import { Findings, type ProbeReport, type ProbeTarget } from './probe-target.ts';
import { isRefusal, pathOf, send } from './send.ts';

/** How much to send; the same seed gives the same requests. */
export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  readonly concurrency?: number;
}

/**
 * Random requests for every route, made from the contract's own schemas and from texts that servers stumble over: no 5xx but a 503 that
 * says when to come again, every refusal in its shape, no answer later than 5 s.
 */
export async function probeFuzz(target: ProbeTarget, options: FuzzOptions): Promise<ProbeReport> {
  const { requests, seed, concurrency = 8 } = options;
  const findings = new Findings();
  const ids = [...Object.values(target.own), newId('price'), newId('customer')];
  const share = Math.ceil(requests / allRoutes.length);
  const planned = allRoutes.flatMap((route, at) => {
    const samples = fc.sample(requestFor(route, target, ids), { numRuns: share, seed: seed + at });
    return samples.map((sample) => ({ route, ...sample }));
  });
  const queue = planned.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const { route, path, body } of queue) {
        const startedAt = performance.now();
        const reply = await send(target.url, {
          method: route.method,
          path,
          key: target.testKey,
          body,
          headers: route.idempotency === 'ignored' ? {} : { 'idempotency-key': crypto.randomUUID() },
        });
        findings.sent();
        // Eight clients at one record do meet: who is told when to come again is not failed.
        const isContention = reply.status === 503 && reply.headers.get('retry-after') !== null;
        const told = `${route.id} ${path} ${body ?? ''}: ${reply.status} ${reply.text.slice(0, 200)}`;
        findings.expect(reply.status < 500 || isContention, told);
        if (reply.status >= 400)
          findings.expect(isRefusal(reply.status, reply.json), `${told} (not the contract's shape)`);
        findings.expect(performance.now() - startedAt < 5_000, `${told} (too slow)`);
      }
    }),
  );
  return findings.report();
}

function requestFor(route: Route, target: ProbeTarget, ids: readonly string[]) {
  return fc.record({ path: pathFor(route, target, ids), body: bodyFor(route, ids) });
}

function pathFor(route: Route, { own }: ProbeTarget, ids: readonly string[]): fc.Arbitrary<string> {
  const mine = (route.seed && own[route.seed]) || '';
  const id = fc.oneof({ arbitrary: fc.constant(mine), weight: 8 }, fc.constantFrom(...ids, ...trickyTexts));
  const names = route.query instanceof z.ZodObject ? Object.keys(route.query.shape) : ['expand', 'limit'];
  const name = fc.oneof(
    fc.constantFrom(...names, 'expand', 'expand_customer'),
    fc.constantFrom(...names.map((one) => `${one}[a]`)),
  );
  const value = fc.oneof(fc.constantFrom(...ids, '1', '10', 'true', ...trickyTexts), fc.string({ maxLength: 20 }));
  return fc.tuple(id, fc.array(fc.tuple(name, value), { maxLength: 3 })).map(([named, pairs]) => {
    const query = pairs.map(([key, text]) => `${encode(key)}=${encode(text)}`).join('&');
    return pathOf(route, encode(named)) + (query === '' ? '' : `?${query}`);
  });
}

function bodyFor(route: Route, ids: readonly string[]): fc.Arbitrary<string | undefined> {
  if (route.method === 'GET') return fc.constant(undefined);
  const junk = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.string({ maxLength: 40 }),
  );
  const { body } = route;
  if (body === undefined) return fc.option(junk, { nil: undefined });
  const { envelope, schema } = body;
  const inside = arbitraryOf(schema, ids).map((value) =>
    JSON.stringify(envelope === null ? value : { [envelope]: value }),
  );
  return fc.oneof({ arbitrary: inside, weight: 15 }, { arbitrary: junk, weight: 1 });
}

// A lone surrogate cannot be percent-encoded; as U+FFFD it is a text like any other.
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
