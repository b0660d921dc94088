import { EnvironmentProblems, readEnvironment } from '@eligo/service';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readGatewaySettings } from '../src/config.ts';
import { TrustedProxies } from '../src/http/trusted-proxies.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

const client = '203.0.113.7';
const other = '198.51.100.9';

describe('the client of a request', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '2001:db8:ffff::1']);

  test.each([
    ['is the peer where no proxy tells of another', '10.0.0.1', undefined, '10.0.0.1'],
    ['is whom a trusted proxy was called by', '10.0.0.1', client, client],
    ['is found behind several trusted proxies', '10.0.0.1', `${client}, 192.0.2.1,10.3.3.3`, client],
    ['is the nearest that is no proxy, whatever that one claims', '10.0.0.1', `${other}, ${client}`, client],
    ['is not what it claims with an address of a proxy', '10.0.0.1', `10.9.9.9, ${client}, 10.2.2.2`, client],
    ['is itself where it is no proxy, whatever it claims', client, other, client],
    ['is itself where it has but the address of a proxy’s neighbour', '192.0.2.2', other, '192.0.2.2'],
    ['is the farthest proxy where all are trusted', '10.0.0.1', '10.2.2.2, 10.1.1.1', '10.2.2.2'],
    ['is IPv6', 'fd12::1', '2001:db8::7', '2001:db8::7'],
    ['is in one spelling', 'fd12::1', '2001:0DB8:0:0::0007', '2001:db8::7'],
    ['is behind a proxy that is IPv6', '2001:db8:ffff::1', client, client],
    ['is itself beside such a proxy', '2001:db8:ffff::2', client, '2001:db8:ffff::2'],
    ['is behind a proxy whose IPv4 address came as IPv6', '::ffff:10.0.0.1', client, client],
    ['is behind proxies that tell of each other in IPv6', '10.0.0.1', `${client}, ::ffff:0a01:0101`, client],
    ['stands before a port', '10.0.0.1', `${client}:50012`, client],
    ['stands in brackets before a port', '10.0.0.1', '[2001:db8::7]:50012', '2001:db8::7'],
    ['is the proxy that does not know', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['is the proxy that says nothing', '10.0.0.1', '', '10.0.0.1'],
    ['is the proxy behind which there is nonsense', '10.0.0.1', `${client}, 10.999.1.1, 10.1.1.1`, '10.1.1.1'],
  ])('%s: %s, %s [D10.1]', (_what, peer, forwardedFor, expected) =>
    expect(proxies.clientOf(peer, forwardedFor)).toBe(expected),
  );

  test('is the peer as long as no proxy is named', () =>
    expect(new TrustedProxies([]).clientOf('127.0.0.1', client)).toBe('127.0.0.1'));
});

describe('the setting', () => {
  const read = (text: string) =>
    readEnvironment({ ELIGO_TRUSTED_PROXIES: text, ELIGO_PAGE_KEY: testPageKey }, readGatewaySettings).trustedProxies;

  test.each(['10.0.0.1', ' 10.0.0.0/8 , fd00::/8 ', '2001:db8::1/128', '0.0.0.0/1'])('%j is one', (text) => {
    expect(read(text)).toBeInstanceOf(TrustedProxies);
  });

  test.each([
    'on',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0',
    'fd00::/129',
    '10.0.0.1,',
    'lb.example',
    '1',
  ])('%j is none, and is not repeated', (text) => {
    expect(() => read(text)).toThrow(EnvironmentProblems);
    expect(() => read(text)).toThrow(/ELIGO_TRUSTED_PROXIES must be a comma-separated list [^\n]*\)$/);
  });

  test.each(['0.0.0.0/0', '::/0'])('%s, with which anybody could choose an address, is refused', (text) =>
    expect(() => read(text)).toThrow(EnvironmentProblems),
  );
});

describe('failed authentications', () => {
  let stack: TestGateway;

  beforeAll(async () => {
    stack = await openTestGateway({ ELIGO_RATE_LIMIT_FAILED_AUTH: '1' });
  });

  beforeEach(() => stopLimiterClock());
  afterAll(() => stack?.stop());

  const fail = async (url: string, forwardedFor: string) =>
    (await fetch(`${url}/v1/prices`, { headers: { 'x-forwarded-for': forwardedFor } })).status;

  test('are counted for each client behind a trusted proxy, however it spells what it claims [D10.1]', async () => {
    const { url } = await stack.another({ ELIGO_TRUSTED_PROXIES: '127.0.0.0/8' });
    for (let i = 0; i < 4; i += 1) expect(await fail(url, `198.51.100.${i}, ${client}`)).toBe(401);
    expect(await fail(url, client)).toBe(429);
    expect(await fail(url, other)).toBe(401);
  });

  test('are counted for the peer where no proxy is trusted, whatever it sends [D10.1]', async () => {
    for (let i = 0; i < 4; i += 1) expect(await fail(stack.url, `198.51.100.${i}`)).toBe(401);
    expect(await fail(stack.url, other)).toBe(429);
  });
});
