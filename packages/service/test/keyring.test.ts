import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { EnvironmentProblems, EnvironmentReader, isWeakKeyring, openKeyring, readKeyring } from '../src/index.ts';

const first = `first:${randomBytes(32).toString('base64')}`;
const second = `second:${randomBytes(32).toString('base64')}`;

test('what is sealed opens for the same place, and shows nothing before', () => {
  const keyring = openKeyring(first);
  const sealed = keyring.seal('whsec_Zürich', 'endpoints/fhook_1');
  expect(sealed).toMatch(/^sealed1\.first\.[\w-]+$/);
  expect(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('whsec');
  expect(keyring.open(sealed, 'endpoints/fhook_1')).toBe('whsec_Zürich');
  expect(keyring.seal('whsec_Zürich', 'endpoints/fhook_1')).not.toBe(sealed);
  expect(keyring.open(keyring.seal('', 'a'), 'a')).toBe('');
});

test('what is sealed for one place does not open for another', () => {
  const keyring = openKeyring(first);
  const sealed = keyring.seal('secret', 'endpoints/fhook_1');
  expect(() => keyring.open(sealed, 'endpoints/fhook_2')).toThrow('modified or belongs to another');
});

test('a changed value does not open, whichever byte was changed', () => {
  const keyring = openKeyring(first);
  const [mark, id, text = ''] = keyring.seal('secret', 'a').split('.');
  const body = Buffer.from(text, 'base64url');
  for (let at = 0; at < body.length; at += 1) {
    const changed = Buffer.from(body);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => keyring.open(`${mark}.${id}.${changed.toString('base64url')}`, 'a')).toThrow();
  }
});

test('keys are rotated: the first seals, all open, and old values are known as such', () => {
  const old = openKeyring(first).seal('secret', 'a');
  const rotated = openKeyring(`${second},${first}`);
  expect(rotated.open(old, 'a')).toBe('secret');
  expect(rotated.isStale(old)).toBe(true);
  const renewed = rotated.seal('secret', 'a');
  expect(rotated.isStale(renewed)).toBe(false);
  expect(() => openKeyring(first).open(renewed, 'a')).toThrow('no key second');
});

test('a value under another id of the same key does not open', () => {
  const [, key = ''] = first.split(':');
  const sealed = openKeyring(first).seal('secret', 'a');
  const renamed = openKeyring(`other:${key}`);
  expect(() => renamed.open(sealed.replace('.first.', '.other.'), 'a')).toThrow('modified or belongs to another');
});

test.each([
  ['nothing', ''],
  ['no id', randomBytes(32).toString('base64')],
  ['a short key', `k1:${randomBytes(16).toString('base64')}`],
  ['an id with a dot', `k.1:${randomBytes(32).toString('base64')}`],
  ['an id twice', `${first},${first}`],
])('a keyring with %s is refused, and no key is shown', (_, text) => {
  const shown = (() => {
    try {
      return String(openKeyring(text));
    } catch (error) {
      return String(error);
    }
  })();
  expect(shown).toMatch(/^Error: /);
  for (const part of text.split(/[:,]/).filter((one) => one.length > 8)) expect(shown).not.toContain(part);
});

test.each(['', 'plain', 'sealed1.first', 'sealed1.first.AAAA', 'sealed2.first.'])('%j is no sealed value', (text) => {
  expect(() => openKeyring(first).open(text, 'a')).toThrow('is not sealed');
});

test('a keyring of zeros, of one repeated byte, or with one key twice is weak [D14.138]', () => {
  const key = randomBytes(32).toString('base64');
  expect(isWeakKeyring(`a:${key},b:${randomBytes(32).toString('base64')}`)).toBe(false);
  for (const bytes of [Buffer.alloc(32), Buffer.alloc(32, 0xa7), Buffer.from('0123456701234567'.repeat(2))]) {
    expect(isWeakKeyring(`a:${key},b:${bytes.toString('base64')}`)).toBe(true);
  }
  expect(isWeakKeyring(`a:${key},b:${key}`)).toBe(true);
});

test('a service with a keyring that it cannot read, or a weak one in production, does not start, and shows no key [D14.138]', () => {
  const problemsWith = (environment: Record<string, string>) => {
    const reader = new EnvironmentReader(environment);
    readKeyring(reader);
    try {
      reader.assertSound();
      return [];
    } catch (error) {
      return error instanceof EnvironmentProblems ? error.problems : [error];
    }
  };
  expect(problemsWith({ ELIGO_KEYRING: first })).toEqual([]);
  expect(problemsWith({ ELIGO_KEYRING: 'k1:short' })).toEqual([
    'ELIGO_KEYRING must be id:base64key,… with keys of 32 bytes',
  ]);
  const zeros = `k1:${Buffer.alloc(32).toString('base64')}`;
  expect(problemsWith({ ELIGO_KEYRING: zeros, ELIGO_ENV: 'production' })).toEqual([
    'ELIGO_KEYRING has a key that is not random, or the same key twice; run eligo secrets init',
  ]);
});
