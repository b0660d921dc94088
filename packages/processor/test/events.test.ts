import Stripe from 'stripe';
import { expect, test } from 'vitest';
import { isSigned, readEvent } from '../src/events/index.ts';

const secret = 'whsec_one';
const body = Buffer.from('{"id":"evt_1"}');
const nowMs = 1_800_000_000_000;
const header = (by: string, atMs = nowMs, payload = body.toString()) =>
  new Stripe('sk_test_x').webhooks.generateTestHeaderString({ payload, secret: by, timestamp: atMs / 1_000 });

test('accepts what the official SDK signs, with any of the secrets, and nothing else [D14.120]', () => {
  const v1 = (by: string) => header(by).split(',')[1];
  const cases: [string, string | undefined, boolean][] = [
    ['the secret', header(secret), true],
    ['an old and a new secret, as during a rotation', `t=${nowMs / 1_000},${v1('old')},${v1(secret)}`, true],
    ['another secret', header('whsec_two'), false],
    ['no header', undefined, false],
    ['an empty header', '', false],
    ['no signature', `t=${nowMs / 1_000}`, false],
    ['no time', `${v1(secret)}`, false],
    ['other bytes', header(secret, nowMs, '{"id":"evt_2"}'), false],
    ['five minutes ago', header(secret, nowMs - 300_000), true],
    ['more than five minutes ago', header(secret, nowMs - 301_000), false],
    ['more than five minutes ahead', header(secret, nowMs + 301_000), false],
    ['eleven signatures', `t=${nowMs / 1_000},${Array(11).fill(v1(secret)).join(',')}`, false],
    ['an older scheme', header(secret).replace('v1=', 'v0='), false],
  ];
  for (const [what, given, accepted] of cases) {
    expect({ what, accepted: isSigned(body, given, ['whsec_other', secret], nowMs) }).toEqual({ what, accepted });
  }
  expect(isSigned(body, header(''), [], nowMs)).toBe(false);
});

test('reads which object an event is about, and refuses what is no event', () => {
  const event = {
    ...{
      id: 'evt_1',
      object: 'event',
      type: 'refund.updated',
      created: 1_800_000_000,
      livemode: false,
      account: 'acct_1',
    },
    data: { object: { id: 're_1', amount: 'not read' } },
  };
  expect(readEvent(event)).toEqual({
    ...{ eventId: 'evt_1', type: 'refund.updated', objectId: 're_1', createdAt: new Date(1_800_000_000_000) },
    ...{ isLive: false, processorAccount: 'acct_1' },
  });
  expect(readEvent({ ...event, account: undefined })).toMatchObject({ processorAccount: undefined });
  const broken = [
    ...[null, [], 'x', {}, { ...event, id: 'x' }, { ...event, object: 'charge' }, { ...event, type: 'A b' }],
    ...[
      { ...event, data: {} },
      { ...event, data: { object: { id: '../x' } } },
      { ...event, created: -1 },
    ],
    ...[
      { ...event, created: '1' },
      { ...event, livemode: 'no' },
      { ...event, account: 'acct_1,2' },
    ],
  ];
  for (const value of broken) expect(readEvent(value)).toBeUndefined();
});
