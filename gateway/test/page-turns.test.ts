import { CostBudgets, CostMeter, Neighbors, openPageTokens, processTurns, type TurnCaller } from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAccount } from '../src/index.ts';
import { RequestTurns } from '../src/turns/request-turns.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';

/** Turns of a busy process whose clock the test moves; another account in live mode waits for an answer in it. */
function busyProcess() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const set = { nowMs: 1_000 };
  const neighbors = new Neighbors({ isBusy: () => true, now: () => set.nowMs });
  const budgets = new CostBudgets(neighbors);
  const turns = new RequestTurns({ neighbors, budgets, meter: new CostMeter(neighbors, budgets) });
  neighbors.arrived({ accountId: 'facct_shop', testMode: false });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  /** A request of a page, which lasts until one of `ends` is called. */
  const visit = (name: string, { accountId = 'facct_many', testMode = false } = {}) => {
    void turns.onPage({ accountId, testMode }, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  };
  const pass = async (ms: number) => {
    set.nowMs += ms;
    await vi.advanceTimersByTimeAsync(Math.max(ms, 20));
  };
  return { turns, budgets, begun, ends, visit, pass };
}

describe('pages of an account, while another account is short of time', () => {
  const pagesOf = (accountId: string): TurnCaller => ({ accountId, testMode: false, perSecond: 100, of: 'pages' });

  test('wait once they took the share of a key with the default limit, and its keys and the pages of others do not [D14.370]', async () => {
    const { turns, budgets, begun, visit, pass } = busyProcess();
    visit('before');
    // The burst of 50 ms, and 50 more: by 5% of the time, a second.
    budgets.charge(pagesOf('facct_many'), 100, false);
    visit('waits');
    visit('of another', { accountId: 'facct_few' });
    const key = { accountId: 'facct_many', testMode: false, perSecond: 100 };
    expect(turns.begin(key, { id: 'confirm', method: 'POST', path: '/confirm' })).not.toBeInstanceOf(Promise);
    await pass(900);
    expect(begun).toEqual(['before', 'of another']);
    await pass(200);
    expect(begun).toEqual(['before', 'of another', 'waits']);
  });

  test('wait for no other account whose pages took more than their share, too [D14.370]', async () => {
    const { turns, budgets, begun, visit } = busyProcess();
    turns.neighbors.left({ accountId: 'facct_shop', testMode: false });
    for (const accountId of ['facct_many', 'facct_few']) {
      visit('before', { accountId });
      budgets.charge(pagesOf(accountId), 100, false);
      visit(accountId, { accountId });
    }
    expect(begun).toEqual(['before', 'facct_many', 'before', 'facct_few']);
  });

  test('make no further PDF once they took their share, and do not hold the account’s keys to less however many are asked for [D14.370]', async () => {
    const { turns, budgets, begun, pass } = busyProcess();
    budgets.charge(pagesOf('facct_many'), 100);
    const key = { accountId: 'facct_many', testMode: false, perSecond: 100 };
    const refused: unknown[] = [];
    const pdf = () => {
      const made = turns.expensiveOnPage({ accountId: 'facct_many', testMode: false }, async () => {
        begun.push('pdf');
      });
      made.catch((error: unknown) => refused.push(error));
    };
    for (let count = 0; count < 9; count++) pdf();
    await pass(400);
    expect(begun).toEqual([]);
    expect(refused).toEqual([expect.objectContaining({ code: 'rate_limited' })]);
    expect(turns.neighbors.yields(key)).toBe(false);
    await pass(700);
    expect(begun).toContain('pdf');
    await pass(200);
    expect(begun).toHaveLength(8);
  });

  test('have eight requests at work, and two in test mode beside live mode [D14.370]', async () => {
    const { begun, ends, visit, pass } = busyProcess();
    for (let count = 0; count < 9; count++) visit('live');
    for (let count = 0; count < 3; count++) visit('test', { testMode: true });
    await pass(0);
    const counts = () => [begun.filter((one) => one === 'live').length, begun.filter((one) => one === 'test').length];
    expect(counts()).toEqual([8, 2]);
    for (const end of ends.splice(0)) end();
    await pass(0);
    expect(counts()).toEqual([9, 3]);
  });
});

describe('at a gateway', () => {
  let stack: TestGateway;
  let other: string;
  beforeAll(async () => {
    stack = await openTestGateway();
    other = (await createAccount(stack.database, { name: 'Another shop' })).account_id;
  });
  afterEach(() => {
    vi.restoreAllMocks();
    stack.peers.seen.length = 0;
  });
  afterAll(() => stack?.stop());

  const tokenOf = (kind: 'checkout_session' | 'invoice' | 'payment_link', accountId: string) =>
    openPageTokens(testPageKey, kind).tokenOf({ accountId, testMode: true, id: newId(kind) });
  const page = (call: string) => (accountId: string) => `/pay/${tokenOf('checkout_session', accountId)}${call}`;
  const invoice = (call: string) => (accountId: string) => `/invoice/${tokenOf('invoice', accountId)}${call}`;

  test.each([
    ['GET', 'the document of a page', page('')],
    ['GET', 'the session of a page', page('/session')],
    ['POST', 'a payment', page('/pay')],
    ['POST', 'a promo code', page('/promo-code')],
    ['POST', 'a cancellation', page('/cancel')],
    ['GET', 'the document of an invoice’s page', invoice('')],
    ['POST', 'a payment of an invoice', invoice('/pay')],
    ['GET', 'an invoice as HTML', invoice('/document.html')],
    ['GET', 'a visit of a payment link', (accountId: string) => `/buy/${tokenOf('payment_link', accountId)}`],
  ])('%s: %s waits for the turn of the account’s pages [D14.370]', async (method, _name, pathOf) => {
    const { budgets } = processTurns();
    const asked: TurnCaller[] = [];
    let isHeld = true;
    vi.spyOn(budgets, 'isOver').mockImplementation((caller) => {
      if (caller.of !== 'pages') return false;
      asked.push(caller);
      return isHeld && caller.accountId === stack.accountId;
    });
    const send = (accountId: string) =>
      fetch(stack.url + pathOf(accountId), {
        method,
        redirect: 'manual',
        ...(method === 'POST'
          ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ cards: [], code: 'X' }) }
          : {}),
      });
    const waiting = send(stack.accountId);
    await waitUntil(() => asked.length > 0, { what: 'that it asks for its turn' });
    await send(other);
    const callsOf = (accountId: string) => stack.peers.seen.filter(({ call }) => call.scope.accountId === accountId);
    expect(callsOf(stack.accountId)).toEqual([]);
    isHeld = false;
    await waiting;
    expect(asked.map(({ accountId }) => accountId)).toContain(other);
  });
});
