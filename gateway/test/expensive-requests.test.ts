import { CostBudgets, CostMeter, isShortOfTime, Neighbors, SharedRequests } from '@eligo/service';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ExpensiveRequests } from '../src/turns/expensive-requests.ts';
import { RequestTurns, type Turn, type TurnRoute } from '../src/turns/request-turns.ts';

const account = (accountId: string, testMode = false) => ({ accountId, testMode });

/** Neighbors whose clock and load the test sets. */
function neighborhood(...seen: string[]) {
  const set = { nowMs: 1_000, isBusy: true, utilization: 1 };
  const neighbors = new Neighbors({
    ...{ isBusy: () => set.isBusy, now: () => set.nowMs },
    utilization: () => set.utilization,
  });
  for (const accountId of seen) neighbors.saw(account(accountId));
  const budgets = new CostBudgets(neighbors);
  return { set, neighbors, budgets, here: { neighbors, budgets, meter: new CostMeter(neighbors, budgets) } };
}

/** Enters, and says by `has` whether the turn has begun. */
function entering(lane: Pick<ExpensiveRequests, 'enter'>, accountId: string, testMode = false) {
  const state = { has: false, leave: (): void => undefined };
  const entered = lane.enter(account(accountId, testMode));
  const begun = Promise.resolve(entered).then((leave) => Object.assign(state, { has: true, leave }));
  // A turn that never begins is refused in the end.
  begun.catch(() => undefined);
  if (!(entered instanceof Promise)) Object.assign(state, { has: true, leave: entered });
  return Object.assign(state, { begun });
}

describe('expensive requests', () => {
  const { neighbors: alone } = neighborhood();

  test('run one at a time for an account, and beside those of other accounts [D14.139]', async () => {
    const expensive = new ExpensiveRequests(alone, { atOnce: 2 });
    const first = await expensive.enter(account('facct_1'));
    const order: string[] = [];
    const second = Promise.resolve(expensive.enter(account('facct_1'))).then((leave) => {
      order.push('second of one');
      return leave;
    });
    const other = await expensive.enter(account('facct_2'));
    order.push('of another');
    other();
    first();
    (await second)();
    expect(order).toEqual(['of another', 'second of one']);
  });

  test('take turns by account, live mode before test mode [D14.139]', async () => {
    const expensive = new ExpensiveRequests(alone, { atOnce: 1 });
    const running = await expensive.enter(account('facct_0'));
    const order: string[] = [];
    const wait = (name: string, accountId: string, testMode = false) =>
      Promise.resolve(expensive.enter(account(accountId, testMode))).then((leave) => {
        order.push(name);
        leave();
      });
    const all = [
      wait('test', 'facct_t', true),
      wait('a1', 'facct_a'),
      wait('a2', 'facct_a'),
      wait('b1', 'facct_b'),
      wait('a3', 'facct_a'),
    ];
    running();
    await Promise.all(all);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3', 'test']);
  });

  test('are refused where too many of the account wait, and after a bounded wait [D14.139]', async () => {
    const expensive = new ExpensiveRequests(alone, { atOnce: 1, waitingOfAccount: 1, longestWaitMs: 50 });
    const running = await expensive.enter(account('facct_1'));
    const late = Promise.resolve(expensive.enter(account('facct_1')));
    const refusal = expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 1 });
    expect(() => expensive.enter(account('facct_1'))).toThrow(refusal);
    expect(() => expensive.assertRoom(account('facct_1'))).toThrow(refusal);
    await expect(late).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    running();
    expect(await expensive.enter(account('facct_1'))).toBeTypeOf('function');
  });

  test('of an account take a tenth of the time while another account is short of it, in live mode as in test mode, and any otherwise [D14.247]', async () => {
    const { set, neighbors, budgets } = neighborhood('facct_1', 'facct_2');
    const expensive = new ExpensiveRequests(neighbors, {}, budgets);
    const after = async (testMode: boolean, tookMs: number) => {
      const turn = entering(expensive, 'facct_1', testMode);
      await turn.begun;
      set.nowMs += tookMs;
      budgets.charge(account('facct_1', testMode), tookMs);
      turn.leave();
    };
    // The burst is 50 ms, and 150 ms are worked off.
    const waitMs = 1_500;
    for (const testMode of [false, true]) {
      await after(testMode, 200);
      const next = entering(expensive, 'facct_1', testMode);
      const other = entering(expensive, 'facct_2');
      expect([other.has, next.has]).toEqual([true, false]);
      other.leave();
      set.nowMs += waitMs - 1;
      neighbors.saw(account('facct_2'));
      expect(budgets.isSpent(account('facct_1', testMode))).toBe(true);
      set.nowMs += 2;
      await next.begun;
      next.leave();
    }
    budgets.charge(account('facct_1'), 500);
    expect(budgets.isSpent(account('facct_1'))).toBe(true);
    // Of a process that waits for other processes, a share of what it works, and of a quarter at least.
    for (const [utilization, longerMs] of [
      [0.5, 3_000],
      [0.1, 6_000],
    ] as const) {
      set.utilization = utilization;
      budgets.charge(account('facct_3'), 200);
      set.nowMs += longerMs - 2;
      neighbors.saw(account('facct_2'));
      expect(budgets.isSpent(account('facct_3'))).toBe(true);
      set.nowMs += 4;
      expect(budgets.isSpent(account('facct_3'))).toBe(false);
      set.nowMs += 10_000;
      neighbors.saw(account('facct_2'));
    }
    set.isBusy = false;
    expect(entering(expensive, 'facct_1').has).toBe(true);
  });

  test('wait no longer once the process has time for all [D14.242]', async () => {
    const { set, neighbors, budgets } = neighborhood('facct_1', 'facct_2');
    const expensive = new ExpensiveRequests(neighbors, {}, budgets);
    const first = await expensive.enter(account('facct_1'));
    budgets.charge(account('facct_1'), 100);
    first();
    const next = entering(expensive, 'facct_1');
    expect(next.has).toBe(false);
    set.isBusy = false;
    await next.begun;
  });
});

describe('small requests', () => {
  const limits = {
    ofAccount: 2,
    ofYielding: 1,
    countedMs: 1_000,
    waitingOfAccount: 2,
    longestWaitMs: 500,
  };

  test('of an account alone, or of a process with time to spare, never wait [D14.242]', () => {
    for (const { set, neighbors } of [neighborhood('facct_1'), neighborhood('facct_1', 'facct_2')]) {
      set.isBusy = !neighbors.areShort('facct_1');
      const small = new SharedRequests(neighbors, limits);
      for (let count = 0; count < 10; count++) expect(entering(small, 'facct_1').has).toBe(true);
    }
  });

  test('of an account are few at work while another account is short of time, and the next begins when one ends [D14.242]', async () => {
    const { neighbors } = neighborhood('facct_1', 'facct_2');
    const small = new SharedRequests(neighbors, limits);
    const [one, two, three] = [1, 2, 3].map(() => entering(small, 'facct_1'));
    expect([one?.has, two?.has, three?.has]).toEqual([true, true, false]);
    expect(entering(small, 'facct_2').has).toBe(true);
    one?.leave();
    await three?.begun;
  });

  test('that wait for another server for a second count no more [D14.242]', async () => {
    const { set, neighbors } = neighborhood('facct_1', 'facct_2');
    const small = new SharedRequests(neighbors, limits);
    for (let count = 0; count < 2; count++) entering(small, 'facct_1');
    const waiting = entering(small, 'facct_1');
    expect(waiting.has).toBe(false);
    neighbors.saw(account('facct_2'));
    set.nowMs += 1_000;
    neighbors.saw(account('facct_2'));
    await waiting.begun;
  });

  test('of an account in test mode yield to live mode, and those of an account at its limits to all [D14.242]', () => {
    const { neighbors } = neighborhood('facct_1', 'facct_2');
    const small = new SharedRequests(neighbors, limits);
    const test = [1, 2].map(() => entering(small, 'facct_1', true).has);
    expect(test).toEqual([true, false]);
    neighbors.noteLimit(account('facct_2'));
    const live = [1, 2].map(() => entering(small, 'facct_2').has);
    expect(live).toEqual([true, false]);
    // In live mode the account is not at its limits.
    expect([1, 2].map(() => entering(small, 'facct_1').has)).toEqual([true, true]);
  });

  test('are refused where too many of the account wait, which then yields [D14.242]', () => {
    const { neighbors } = neighborhood('facct_1', 'facct_2');
    const small = new SharedRequests(neighbors, limits);
    const waiting = [1, 2, 3, 4].map(() => entering(small, 'facct_1'));
    expect(neighbors.yields(account('facct_1'))).toBe(false);
    expect(() => small.enter(account('facct_1'))).toThrow('rate_limited');
    expect(neighbors.yields(account('facct_1'))).toBe(true);
    expect(entering(small, 'facct_2').has).toBe(true);
    for (const { leave } of waiting.slice(0, 2)) leave();
  });
});

describe('by default, on a busy machine beside another account', () => {
  /** Requests of one account that come at once and take so long each. Answers how many were not refused. */
  async function batch(turns: RequestTurns, set: { nowMs: number }, of: { requests: number; tookMs: number }) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const begun: { turn: Turn; untilMs: number }[] = [];
    let [ended, refused] = [0, 0];
    for (let count = 0; count < of.requests; count++) {
      Promise.resolve(
        turns.begin(account('facct_1'), { id: 'products.list', method: 'GET', path: '/v1/products' }),
      ).then(
        (turn) => begun.push({ turn, untilMs: set.nowMs + of.tookMs }),
        () => refused++,
      );
    }
    while (ended + refused < of.requests) {
      set.nowMs += 1;
      await vi.advanceTimersByTimeAsync(1);
      turns.neighbors.saw(account('facct_2'));
      for (const next of begun.filter(({ untilMs }) => untilMs <= set.nowMs)) {
        begun.splice(begun.indexOf(next), 1);
        next.turn.end();
        ended += 1;
      }
    }
    return ended;
  }

  test('the burst that the default limit lets through is delayed, and none of it refused [D14.242]', async () => {
    const { set, neighbors, here } = neighborhood('facct_2');
    expect(await batch(new RequestTurns(here), set, { requests: 400, tookMs: 100 })).toBe(400);
    // An account at its limits yields, and gets its turns all the same.
    neighbors.noteLimit(account('facct_1'));
    expect(await batch(new RequestTurns(here), set, { requests: 64, tookMs: 100 })).toBe(64);
  });

  test('thirty reads of large pages at once are delayed, and none of them refused [D14.242]', async () => {
    const { set, here } = neighborhood('facct_2');
    const turns = new RequestTurns(here);
    turns.largeAnswers.note('facct_1', 'products.list', true);
    expect(await batch(turns, set, { requests: 30, tookMs: 50 })).toBe(30);
  });
});

test('an account whose request lasts longer than a second is there until it ends [D14.242]', async () => {
  const { set, neighbors, here } = neighborhood();
  const route = { id: 'create', method: 'POST', path: '/v1/products' };
  const turn = await new RequestTurns(here).begin(account('facct_1'), route);
  set.nowMs += 5_000;
  expect([neighbors.areShort('facct_2'), neighbors.yields(account('facct_2', true))]).toEqual([true, true]);
  turn.end();
  turn.end();
  set.nowMs += 1_001;
  expect([neighbors.areShort('facct_2'), neighbors.yields(account('facct_2', true))]).toEqual([false, false]);
  expect(neighbors.size).toBe(0);
});

test('an account whose client sends a body holds no other account to its share meanwhile [D14.249]', async () => {
  const { set, neighbors, budgets, here } = neighborhood();
  const buyer = { ...account('facct_2'), perSecond: 100 };
  const turn = await new RequestTurns(here).begin(account('facct_1'), { id: 'x', method: 'POST', path: '/v1/x' });
  budgets.charge(buyer, 500);
  expect(budgets.isOver(buyer)).toBe(true);
  turn.expectsBody(1_000);
  expect(budgets.isOver(buyer)).toBe(false);
  await turn.hasBody(1_000);
  expect(budgets.isOver(buyer)).toBe(true);
  turn.end();
  expect(budgets.isOver(buyer)).toBe(false);
  set.nowMs += 1_001;
  expect([neighbors.areShort('facct_2'), ...neighbors.othersOf(buyer)]).toEqual([false]);
});

test('accounts that ask no more are forgotten, also where the process is never busy [D14.242]', () => {
  const { set, neighbors } = neighborhood();
  set.isBusy = false;
  for (let count = 0; count < 1_000; count++) {
    set.nowMs += 10;
    neighbors.saw(account(`facct_${count}`));
  }
  expect(neighbors.size).toBeLessThan(300);
});

describe('the turn of a request', () => {
  const read = { id: 'products.list', method: 'GET', path: '/v1/products' };
  const write = { id: 'checkout_sessions.confirm', method: 'POST', path: '/v1/checkout/sessions/{id}/confirm' };
  const begin = async (turns: RequestTurns, route: TurnRoute): Promise<Turn> => turns.begin(account('facct_1'), route);

  test('is expensive when the last answer on its route was large and another account is short of time [D14.242]', async () => {
    const { set, here } = neighborhood('facct_2');
    const turns = new RequestTurns(here);
    const first = await begin(turns, read);
    first.answered(read, 20_000);
    first.end();
    const expensive = await begin(turns, read);
    const next = { has: false };
    const waits = begin(turns, read).then((turn) => Object.assign(next, { has: true, turn }));
    expect((await begin(turns, write)).hasBody(100)).toBeUndefined();
    expect(next.has).toBe(false);
    expensive.answered(read, 100);
    expensive.end();
    (await waits).turn.end();
    set.isBusy = true;
    // The last answer was small.
    await Promise.all([begin(turns, read), begin(turns, read)]);
  });

  test('is expensive for a body over 8 kB, and refuses one that could not be worked on before it is read [D14.139]', async () => {
    const turns = new RequestTurns(neighborhood().here);
    const first = await begin(turns, write);
    expect(first.hasBody(8_192)).toBeUndefined();
    await first.hasBody(8_193);
    const waiting = await Promise.all(Array.from({ length: 8 }, () => begin(turns, write)));
    const held = waiting.map((turn) => turn.hasBody(100_000));
    expect(() => waiting[0]?.expectsBody(100_000)).toThrow('rate_limited');
    first.end();
    for (const [at, turn] of waiting.entries()) {
      await held[at];
      turn.end();
    }
  });

  test('does the expensive work of a request once, whether or not the request is expensive by itself [D14.139]', async () => {
    const turns = new RequestTurns(neighborhood('facct_2').here);
    const pdf = { id: 'invoices.get_document', method: 'GET', path: '/v1/invoices/{id}/document' };
    for (let count = 0; count < 2; count++) {
      const turn = await begin(turns, pdf);
      expect(await turn.runExpensive(async () => 'pdf')).toBe('pdf');
      turn.answered(pdf, 0);
      turn.end();
      turn.end();
    }
  });
});

test('a process is short of time when its loop works half of the time, and when it waits for a processor in its work [D14.247]', () => {
  expect(isShortOfTime({ activeMs: 51, cpuMs: 51, utilization: 0.51 })).toBe(true);
  expect(isShortOfTime({ activeMs: 49, cpuMs: 49, utilization: 0.49 })).toBe(false);
  expect(isShortOfTime({ activeMs: 40, cpuMs: 27, utilization: 0.4 })).toBe(true);
  expect(isShortOfTime({ activeMs: 40, cpuMs: 29, utilization: 0.4 })).toBe(false);
  // A few milliseconds say little.
  expect(isShortOfTime({ activeMs: 5, cpuMs: 1, utilization: 0.05 })).toBe(false);
});

test('measures the time of expensive and other work, each by itself, and only while accounts are short of it [D14.247]', async () => {
  const { set, neighbors } = neighborhood('facct_1', 'facct_2');
  const charged = new Map<string, number>();
  const meter = new CostMeter(neighbors, {
    charge: ({ accountId }, tookMs, isExpensive) => {
      const name = `${accountId}${isExpensive === true ? ' expensive' : ''}`;
      charged.set(name, (charged.get(name) ?? 0) + tookMs);
    },
  });
  const work = (accountId: string, isExpensive: boolean) =>
    meter.run({ caller: account(accountId), isExpensive }, async () => {
      for (let step = 0; step < 5; step++) {
        await new Promise((resolve) => setImmediate(resolve));
        for (const untilMs = performance.now() + 4; performance.now() < untilMs; );
      }
    });
  await Promise.all([work('facct_1', true), work('facct_2', false)]);
  await vi.waitUntil(() => charged.size === 2);
  expect(charged.get('facct_1 expensive')).toBeGreaterThanOrEqual(18);
  expect(charged.get('facct_2')).toBeGreaterThanOrEqual(18);

  charged.clear();
  set.isBusy = false;
  await vi.waitUntil(() => !meter.isMeasuring, { timeout: 5_000 });
  await work('facct_1', true);
  expect(charged.size).toBe(0);
});
