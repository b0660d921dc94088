import { describe, expect, test } from 'vitest';
import { parseForm } from '../src/http/form.ts';
import { JoinedChunks } from '../src/http/joined-chunks.ts';

describe('a form', () => {
  test.each([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=&b', { a: '', b: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['a[b][c]=1&a[b][d]=2', { a: { b: { c: '1', d: '2' } } }],
    ['a%5Bb%5D=1', { a: { b: '1' } }],
    ['expand[]=x&expand[]=y', { expand: { 0: 'x', 1: 'y' } }],
    ['expand[0]=x&expand[1]=y', { expand: { 0: 'x', 1: 'y' } }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['a=%C3%A9+%2B&b=100%', { a: 'é +', b: '100%' }],
    ['[a]=1&b]=2&c[=3', { '[a]': '1', 'b]': '2', 'c[': '3' }],
    ['__proto__[x]=1&constructor=2', JSON.parse('{"__proto__":{"x":"1"},"constructor":"2"}')],
  ])('%s', (form, values) => {
    expect(JSON.parse(JSON.stringify(parseForm(form).values))).toEqual(values);
  });

  test('that gives a name no prototype of ours', () => {
    parseForm('__proto__[polluted]=1&constructor[prototype][polluted]=1');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test.each(['a=1&a[b]=2', `a${'[x]'.repeat(7)}=1`, 'a=1&'.repeat(1_001)])('that makes no sense is refused', (form) => {
    expect(() => parseForm(form)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

test('a body in tiny chunks is kept in few buffers, and whole [D14.243]', () => {
  const chunks = new JoinedChunks();
  let most = 0;
  for (let at = 0; at < 100_000; at++) {
    chunks.add(Buffer.from(String(at % 10)));
    most = Math.max(most, chunks.buffers);
  }
  expect(most).toBeLessThan(1_200);
  expect(chunks.whole().toString()).toBe('0123456789'.repeat(10_000));
  expect(new JoinedChunks().whole().length).toBe(0);
});
