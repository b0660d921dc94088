import { create } from '@bufbuild/protobuf';
import type { PageView } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { NextActionSchema } from '@eligo/proto/checkout/v1/checkout';
import { openPageTokens } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DeclinedCards } from '../src/checkout-page/declined-cards.ts';
import { createAccount } from '../src/index.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

const minuteMs = 60_000;
/** An address may make three payments a second. */
const gapMs = 350;

const view = (of: Partial<PageView>) =>
  ({ state: 'open', payment_in_flight: false, next_action: null, ...of }) as PageView;
const nextAction = { type: 'payment_failed', payment_failed: null } as unknown as PageView['next_action'];
const declined = async () => view({ next_action: nextAction });
const tooMany = { code: 'declined_cards_exceeded' };

describe('the cards that are declined for one client', () => {
  test('are sixty at once and one more each minute [D14.346]', async () => {
    const clock = stopLimiterClock();
    const cards = new DeclinedCards();
    for (let count = 0; count < 60; count++) await cards.pay('one', declined);
    await expect(cards.pay('one', declined)).rejects.toMatchObject({ ...tooMany, retryAfterSeconds: 60 });
    await cards.pay('other', declined);
    clock.advance(minuteMs);
    await cards.pay('one', declined);
    await expect(cards.pay('one', declined)).rejects.toMatchObject(tooMany);
    clock.advance(60 * minuteMs);
    for (let count = 0; count < 60; count++) await cards.pay('one', declined);
  });

  test.each<[string, () => Promise<PageView>]>([
    ['pays', async () => view({ state: 'complete' })],
    ['waits for its bank', async () => view({ payment_in_flight: true, next_action: nextAction })],
    [
      'waits for a second card',
      async () => view({ next_action: { type: 'provide_second_payment_method' } as PageView['next_action'] }),
    ],
    ['is not asked of its bank', () => Promise.reject(new Failure('service_unavailable'))],
  ])('do not include one that %s [D14.346]', async (_what, payment) => {
    stopLimiterClock();
    const cards = new DeclinedCards();
    for (let count = 0; count < 100; count++) await cards.pay('one', payment).catch(() => undefined);
    for (let count = 0; count < 60; count++) await cards.pay('one', declined);
    await expect(cards.pay('one', payment)).rejects.toMatchObject(tooMany);
  });

  test('include those that cannot be saved, those of authentications, and payments without an outcome yet [D14.346]', async () => {
    stopLimiterClock();
    const cards = new DeclinedCards();
    const outcome = Promise.withResolvers<PageView>();
    const waiting = cards.pay('one', () => outcome.promise);
    await expect(cards.pay('one', () => Promise.reject(new Failure('card_declined')))).rejects.toMatchObject({
      status: 402,
    });
    await cards.resume('one', declined);
    for (let count = 0; count < 57; count++) await cards.pay('one', declined);
    await expect(cards.pay('one', declined)).rejects.toMatchObject(tooMany);
    outcome.resolve(view({ state: 'complete' }));
    await waiting;
    await cards.pay('one', declined);
    await expect(cards.pay('one', declined)).rejects.toMatchObject(tooMany);
    // A shopper who was asked by a bank is not stopped, and does not extend the time for others.
    for (let count = 0; count < 10; count++)
      expect(await cards.resume('one', declined)).toMatchObject({ state: 'open' });
    await expect(cards.pay('one', declined)).rejects.toMatchObject({ retryAfterSeconds: 60 });
  });
});

describe('the pages of an account', () => {
  let stack: TestGateway;
  let url: string;
  const tokens = openPageTokens(testPageKey);
  beforeAll(async () => {
    stack = await openTestGateway();
  });
  beforeEach(async () => {
    ({ url } = await stack.another({ ELIGO_TRUSTED_PROXIES: '127.0.0.1' }));
  });
  afterEach(() => stack.peers.restore());
  afterAll(() => stack?.stop());

  const send = (path: string, client: string, body: object = {}) =>
    fetch(`${url}${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', 'x-forwarded-for': client },
    });
  const page = (accountId = stack.accountId, testMode = true) =>
    `/pay/${tokens.tokenOf({ accountId, testMode, id: newId('checkout_session') })}`;
  const pay = (client: string, at = page()) =>
    send(`${at}/pay`, client, { cards: [{ payment_method: 'pm_other0123456789', slot: 'other' }] });
  const shown = (status: 'open' | 'complete') => {
    const { nextAction: _action, ...session } = stack.peers.samples.checkout_session;
    const failed = status === 'open' ? { nextAction: create(NextActionSchema, { type: 'payment_failed' }) } : {};
    return {
      session: { ...session, mode: 'payment', status, ...failed },
      lineItems: [],
      dueNowCents: 1_000n,
      healthCardCents: 0n,
    };
  };
  const become = (status: 'open' | 'complete') => {
    const { session } = shown(status);
    stack.peers.answer('payOnPage', () => ({ result: { case: 'session', value: session } }));
    stack.peers.answer('getPage', () => shown(status));
    stack.peers.answer('resumeAuthentication', () => session);
  };

  test('refuse payments of a client with too many declined cards, over all sessions, and of no other client [D14.346]', async () => {
    const clock = stopLimiterClock();
    become('open');
    for (let count = 0; count < 60; count++) {
      expect((await pay('203.0.113.7')).status).toBe(200);
      clock.advance(gapMs);
    }
    become('complete');
    stack.peers.seen.length = 0;
    const refused = await pay('203.0.113.7');
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({
      code: 'declined_cards_exceeded',
      detail:
        'Too many cards from this network were declined. Wait for the time in Retry-After and pay again, or use another network.',
    });
    const waitSeconds = Number(refused.headers.get('retry-after'));
    expect(waitSeconds).toBeGreaterThan(30);
    expect(waitSeconds).toBeLessThanOrEqual(60);
    expect(stack.peers.seen.filter(({ method }) => method === 'payOnPage')).toEqual([]);
    // Another client, another mode and another shop.
    const other = await createAccount(stack.database, { name: 'Another shop' });
    const others = [
      pay('203.0.113.8'),
      pay('203.0.113.7', page(stack.accountId, false)),
      pay('203.0.113.7', page(other.account_id)),
    ];
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200]);
    // The page is shown, and a shopper whom a bank asks can go on.
    expect((await fetch(`${url}${page()}/session`, { headers: { 'x-forwarded-for': '203.0.113.7' } })).status).toBe(
      200,
    );
    expect((await send(`${page()}/authenticate`, '203.0.113.7')).status).toBe(200);
    clock.advance(waitSeconds * 1_000);
    expect((await pay('203.0.113.7')).status).toBe(200);
  });

  test('count the declines of authentications, and of saved cards that a look resumes [D14.346]', async () => {
    const clock = stopLimiterClock();
    become('open');
    for (let count = 0; count < 30; count++) {
      expect((await send(`${page()}/authenticate`, '203.0.113.7')).status).toBe(200);
      clock.advance(gapMs);
    }
    for (let count = 0; count < 30; count++) {
      let looks = 0;
      stack.peers.answer('getPage', () => ({ ...shown('open'), setUpAnswered: looks++ === 0 }));
      const look = await fetch(`${url}${page()}/session`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
      expect(look.status).toBe(200);
      clock.advance(gapMs);
    }
    expect((await pay('203.0.113.7')).status).toBe(429);
  });
});
