import { limits, routes, violationsOf } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { parseQuery } from '../src/http/parse-query.ts';

const list = (query: string) => routes.prices.list.query?.safeParse(parseQuery(query));
const refused = (query: string) => violationsOf(list(query)?.error as z.ZodError, 'query', [], parseQuery(query));

describe('metadata[key]=value', () => {
  test.each([
    ['metadata[0]=a', { 0: 'a' }],
    ['metadata[12]=a&metadata[3]=b', { 12: 'a', 3: 'b' }],
    ['metadata%5B7%5D=a%20b&limit=1', { 7: 'a b' }],
    ['metadata[5000]=a', { 5000: 'a' }],
    ['metadata[5]=a&metadata[80123456789012345]=b', { 5: 'a', '80123456789012345': 'b' }],
    ['metadata[7]=a&metadata[sku]=b', { 7: 'a', sku: 'b' }],
    ['metadata[a.b]=c&metadata[a%5Bb%5D]=d', { 'a.b': 'c', 'a[b]': 'd' }],
  ])('%s filters on the pairs that were set, also under a key of digits [PRICE-13, D14.55]', (query, pairs) => {
    expect(list(query)?.data).toMatchObject({ metadata: pairs });
  });

  test.each([
    'metadata=a',
    'metadata[]=a',
    'metadata=a&metadata=b',
    'metadata[1]=a&metadata[]=b',
    'metadata[1]=a&metadata[1]=b',
  ])('%s names no pair, or one twice, and is refused in words that say how', (query) => {
    expect(refused(query)).toEqual([
      { loc: ['query', 'metadata'], msg: 'Must be of the form name[key]=value', type: 'invalid_type' },
    ]);
  });
});

describe('lookup_keys', () => {
  test.each([
    'lookup_keys[0]=a&lookup_keys[1]=b',
    'lookup_keys[]=a&lookup_keys[]=b',
    'lookup_keys[3]=a&lookup_keys[900]=b',
  ])('%s are two keys', (query) => expect(list(query)?.data).toMatchObject({ lookup_keys: ['a', 'b'] }));

  test.each([11, 150])('%i of them are refused at their name [PRICE-12]', (count) => {
    const query = Array.from({ length: count }, (_, at) => `lookup_keys[${at}]=k`).join('&');
    expect(refused(query)).toEqual([
      { loc: ['query', 'lookup_keys'], msg: `Must have at most ${limits.lookupKeys} entries`, type: 'too_big' },
    ]);
  });
});

test('an invalid value in a query is reported with its own type and message', () => {
  expect(refused('active=perhaps&limit=1&limit=2')).toEqual([
    { loc: ['query', 'limit'], msg: 'Must be a single value', type: 'invalid_type' },
    { loc: ['query', 'active'], msg: 'Must be true or false', type: 'invalid_value' },
  ]);
  expect(refused('lookup_keys[a]=b')).toMatchObject([{ loc: ['query', 'lookup_keys'], type: 'invalid_type' }]);
});

test('more than a thousand parameters are refused rather than cut off', () => {
  const query = (count: number) => Array.from({ length: count }, () => 'x=1').join('&');
  expect(() => parseQuery(query(1_001))).toThrow(Failure);
  expect(parseQuery(query(1_000))).toHaveProperty('x');
});
