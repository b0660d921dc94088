import { readFile } from 'node:fs/promises';
import { isFailureCode } from '@eligo/failures';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { allRoutes, codesOf, openapi, readScopeOf, scopeOf, scopes } from '../src/index.ts';

test('every route has an id and a place of its own', () => {
  expect(new Set(allRoutes.map(({ id }) => id)).size).toBe(allRoutes.length);
  const places = allRoutes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`);
  expect(new Set(places).size).toBe(allRoutes.length);
});

describe.each(allRoutes.map((route) => [route.id, route] as const))('%s', (_id, route) => {
  test('names a scope that keys can carry and codes that exist [D10.3]', () => {
    expect(scopes).toContain(route.scope);
    expect(codesOf(route).every(isFailureCode)).toBe(true);
    expect(route.violations.every(isFailureCode)).toBe(true);
  });

  test('is under /v1; a test helper takes test keys only, and nothing else does [VER-1]', () => {
    expect(route.path.startsWith('/v1/')).toBe(true);
    expect(route.testOnly).toBe(route.path.startsWith('/v1/test_helpers/'));
  });
});

test('scopes are read and write of each resource; a colon is accepted [AUTH-3, D2.2]', () => {
  expect(scopeOf('prices_write')).toBe('prices_write');
  expect(scopeOf('files:read')).toBe('files_read');
  expect(scopeOf('prices_delete')).toBeUndefined();
  expect(scopeOf('')).toBeUndefined();
});

test('an expanded record needs the scope of the route that reads it [AUTH-5, D3.7]', () => {
  const kinds = allRoutes.flatMap(({ expansion }) => [...expansion.values()].flatMap(({ kind }) => kind ?? []));
  const needed = Object.fromEntries(kinds.map((kind) => [kind, readScopeOf(kind)]));
  expect(needed).toEqual({
    ...{ balance_transaction: 'balance_transactions_read', capture: 'captures_read', coupon: 'coupons_read' },
    ...{ customer: 'customers_read', invoice: 'invoices_read', payment_intent: 'payment_intents_read' },
    ...{ payment_method: 'payment_methods_read', price: 'prices_read', product: 'products_read' },
    subscription: 'subscriptions_read',
  });
});

test('the deprecated endpoints say since when, until when and what replaces them [VER-2, VER-3]', () => {
  const deprecated = allRoutes.filter(({ deprecation }) => deprecation !== undefined);
  expect(deprecated.map(({ id }) => id).sort()).toEqual(['payment_intents.capture', 'refunds.create']);
});

describe('the OpenAPI description', () => {
  const description = openapi();

  test('describes every route once [API-1]', () => {
    const operations = Object.values(description.paths as Record<string, object>).flatMap((path) => Object.keys(path));
    expect(operations).toHaveLength(allRoutes.length);
  });

  test('documents 401, 403, 404, 409, 422 and 429 on every endpoint, and what may pass', () => {
    const paths = description.paths as Record<string, Record<string, { responses: Record<string, unknown> }>>;
    for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(['200', '401', '403', '404', '409', '422', '429', '500', '503']),
      );
    }
  });

  test('refers only to what it defines', () => {
    const { schemas } = description.components as { schemas: Record<string, unknown> };
    const text = JSON.stringify(description);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '');
    expect(references.length).toBeGreaterThan(100);
    for (const name of references) expect(schemas, name).toHaveProperty(name);
    expect(text).not.toContain('$defs');
  });

  test('is valid to an independent linter [API-1]', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(description);
    const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
    expect(problems.filter(({ severity }) => severity === 'error').map(({ message }) => message)).toEqual([]);
  });

  test('is the committed one; `npm run -w @eligo/contract openapi` writes it [API-1]', async () => {
    const committed = await readFile(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
    expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(description)));
  });
});
