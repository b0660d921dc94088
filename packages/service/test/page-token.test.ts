import { randomBytes } from 'node:crypto';
import { newId } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openPageTokens, type PageSubject } from '../src/page-token.ts';

const newKey = () => randomBytes(32).toString('base64');
const newSubject = (testMode = true): PageSubject => ({
  accountId: newId('account'),
  id: newId('checkout_session'),
  testMode,
});

describe('a page token', () => {
  test('opens the session that it was made for, in its account and mode [D14.80]', () => {
    const tokens = openPageTokens(newKey());
    for (const testMode of [true, false]) {
      const subject = newSubject(testMode);
      expect(tokens.subjectOf(tokens.tokenOf(subject))).toEqual(subject);
    }
  });

  test('opens nothing once any of its characters is changed, removed or added [D14.80]', () => {
    const tokens = openPageTokens(newKey());
    const token = tokens.tokenOf(newSubject());
    const characters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_./%'.split('');
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...characters), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        expect(tokens.subjectOf(changed) === undefined).toBe(changed !== token);
      }),
    );
    for (const other of ['', token.slice(1), token.slice(0, -1), `${token}A`, `${token}\n`, token.toUpperCase()])
      expect(tokens.subjectOf(other)).toBeUndefined();
  });

  test('is no other session’s, account’s or mode’s token [D14.80]', () => {
    const tokens = openPageTokens(newKey());
    const subject = newSubject();
    const token = tokens.tokenOf(subject);
    const others = [
      { ...subject, testMode: false },
      { ...subject, id: newId('checkout_session') },
      { ...subject, accountId: newId('account') },
    ];
    for (const other of others) {
      const signature = token.slice(-32);
      expect(tokens.subjectOf(tokens.tokenOf(other).slice(0, -32) + signature)).toBeUndefined();
    }
  });

  test('of a payment link opens no session, and the reverse [D14.80]', () => {
    const key = newKey();
    const [sessions, links] = [openPageTokens(key, 'checkout_session'), openPageTokens(key, 'payment_link')];
    const subject = { ...newSubject(), id: newId('payment_link') };
    expect(links.subjectOf(links.tokenOf(subject))).toEqual(subject);
    expect(sessions.subjectOf(links.tokenOf(subject))).toBeUndefined();
    expect(links.subjectOf(sessions.tokenOf(newSubject()))).toBeUndefined();
  });

  test('keeps opening its session while its key is rotated, and not after [D14.80]', () => {
    const [old, next] = [newKey(), newKey()];
    const token = openPageTokens(old).tokenOf(newSubject());
    expect(openPageTokens(`${next},${old}`).subjectOf(token)).toBeDefined();
    expect(openPageTokens(next).subjectOf(token)).toBeUndefined();
  });

  test('needs keys that nobody can guess', () => {
    for (const text of ['', 'short', `${newKey()},`, `${newKey()},short`])
      expect(() => openPageTokens(text)).toThrow('at least 32 characters');
  });
});
