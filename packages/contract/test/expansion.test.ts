import { describe, expect, test } from 'vitest';
import { type ExpandableKind, expandKeysOf, routes } from '../src/index.ts';

describe('what to expand [SUB-8]', () => {
  const { expansion } = routes.subscriptions.list;
  const keysOf = (query: Record<string, unknown>, mayRead: (kind: ExpandableKind) => boolean = () => true) =>
    [...expandKeysOf(query, expansion, mayRead)].sort();

  test.each([
    ['a list', { expand: 'customer,latest_invoice' }, ['customer', 'latest_invoice']],
    ['a list with blanks', { expand: ' customer , price ' }, ['customer', 'price']],
    ['the name repeated', { expand: ['customer', 'price,discounts'] }, ['customer', 'price', 'discounts']],
    ['aliases', { expand: 'invoice,product' }, ['latest_invoice', 'price']],
    ['a flag', { expand_customer: 'true', expand_invoice: '1' }, ['customer', 'latest_invoice']],
    ['a list and a flag', { expand: 'discounts', expand_customer: 'true' }, ['discounts', 'customer']],
    ['keys that nobody knows', { expand: 'moon,,toString', expand_moon: 'true' }, []],
    ['nothing that could be a list', { expand: { a: 'customer' } }, []],
  ])('%s', (_what, query, keys) => expect(keysOf(query)).toEqual(keys.sort()));

  test('leaves out every name of a kind that the caller may not read [AUTH-5, D3.7]', () => {
    const query = {
      expand: 'customer,invoice,discounts,coupons',
      expand_latest_invoice: 'true',
      expand_product: 'true',
    };
    expect(keysOf(query, (kind) => kind === 'customer')).toEqual(['customer', 'discounts']);
    expect(keysOf(query, (kind) => kind !== 'coupon')).toEqual(['customer', 'discounts', 'latest_invoice', 'price']);
  });
});
