import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import type { ActiveKey, KeyCache } from '../src/accounts/key-cache.ts';
import { newKey } from '../src/accounts/key-format.ts';
import { Authenticator } from '../src/http/authenticate.ts';
import { FailedAuthentications } from '../src/http/failed-authentications.ts';
import { TrustedProxies } from '../src/http/trusted-proxies.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

/** Looks keys up as slowly as a database that many ask at once. */
function authenticator(find: (apiKey: string) => ActiveKey | undefined) {
  let lookedUp = 0;
  const keys = {
    get: () => undefined,
    isKnown: () => false,
    async find(apiKey: string) {
      lookedUp += 1;
      await new Promise(setImmediate);
      return find(apiKey);
    },
  } as unknown as KeyCache;
  // Four failures in four seconds.
  const made = new Authenticator(keys, new FailedAuthentications(1), new TrustedProxies([]));
  const ask = async (apiKey: string) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const request = { headers, socket: { remoteAddress: '203.0.113.7' } } as unknown as IncomingMessage;
    return made.authenticate(request);
  };
  return { ask, lookedUp: () => lookedUp };
}

test('guesses that come all at once are looked up no more often than one after the other', async () => {
  stopLimiterClock();
  const { ask, lookedUp } = authenticator(() => undefined);
  const answers = await Promise.allSettled(Array.from({ length: 50 }, () => ask(newKey(true))));
  const codes = answers.map((answer) => answer.status === 'rejected' && (answer.reason as { code: string }).code);
  expect(codes.filter((code) => code === 'unauthorized')).toHaveLength(4);
  expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(46);
  expect(lookedUp()).toBe(4);
});

test('neither valid keys nor keys whose lookup failed count as failed authentications', async () => {
  const key = { keyId: 'fakey_1' } as ActiveKey;
  const found = authenticator(() => key);
  for (let i = 0; i < 20; i += 1) expect(await found.ask(newKey(true))).toBe(key);
  const away = authenticator(() => {
    throw new Error('the database is away');
  });
  for (let i = 0; i < 20; i += 1) await expect(away.ask(newKey(true))).rejects.toThrow('the database is away');
});
