import { CostBudgets, CostMeter, Neighbors } from '@eligo/service';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { RequestTurns, type Turn, type TurnRoute } from '../src/turns/request-turns.ts';

describe('in simulated time, on one processor that a shop with eight shoppers keeps busy', () => {
  const confirm: TurnRoute = { id: 'confirm', method: 'POST', path: '/v1/checkout/sessions/{id}/confirm' };
  const confirmMs = 10;
  const simulatedMs = 12_000;

  interface Attack {
    readonly perSecond: number;
    /** Of processor time, without a pause but where its work has several steps. */
    readonly costMs: number;
    readonly steps?: number;
    readonly testMode?: boolean;
    readonly isAtLimit?: boolean;
    /** The limits of the keys of both; without one unless given. */
    readonly limit?: number;
    readonly limitOfShop?: number;
    /** Of each of its shoppers, between two payments; none unless given. */
    readonly pauseMs?: number;
    readonly route: TurnRoute;
    readonly enter?: (turn: Turn) => Promise<unknown> | undefined;
  }

  /** Runs the shop and an attacker, whose requests cost what they cost. Answers the part of the time that each got, and how many requests were refused. */
  async function simulate(attack: Attack) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const set = { nowMs: 1_000 };
    const neighbors = new Neighbors({ isBusy: () => true, now: () => set.nowMs });
    const budgets = new CostBudgets(neighbors);
    const turns = new RequestTurns({ neighbors, budgets, meter: new CostMeter(neighbors, budgets) });
    const attacker = { accountId: 'facct_attacker', testMode: attack.testMode === true, perSecond: attack.limit };
    const buyer = { accountId: 'facct_shop', testMode: false, perSecond: attack.limitOfShop };
    const queue: { stepMs: number; steps: number; ofShop: boolean; end: () => void }[] = [];
    const took = { shop: 0, attacker: 0, refused: 0 };
    const isExpensive = () => attack.route.method === 'GET' || attack.enter !== undefined || neighbors.yields(attacker);
    let atWork = 0;
    const shop = async () => {
      const turn = await turns.begin(buyer, confirm);
      const end = () => {
        turn.end();
        if (attack.pauseMs === undefined) void shop();
        else setTimeout(() => void shop(), attack.pauseMs);
      };
      queue.push({ stepMs: 1, steps: confirmMs, ofShop: true, end });
    };
    const send = async () => {
      if (attack.isAtLimit === true) neighbors.noteLimit(attacker);
      const turn = await turns.begin(attacker, attack.route);
      try {
        await attack.enter?.(turn);
      } catch (error) {
        turn.end();
        throw error;
      }
      atWork += 1;
      const end = () => {
        atWork -= 1;
        turn.end();
      };
      const steps = attack.steps ?? 1;
      queue.push({ stepMs: attack.costMs / steps, steps, ofShop: false, end });
    };
    for (let shopper = 0; shopper < 8; shopper++) void shop();
    let mostAtWork = 0;
    const startMs = set.nowMs;
    for (let sent = 0; set.nowMs - startMs < simulatedMs; ) {
      for (; sent < ((set.nowMs - startMs) * attack.perSecond) / 1_000; sent++) send().catch(() => took.refused++);
      await vi.advanceTimersByTimeAsync(0);
      mostAtWork = Math.max(mostAtWork, atWork);
      const next = queue.shift();
      const stepMs = next?.stepMs ?? 1;
      set.nowMs += stepMs;
      if (next !== undefined) {
        took[next.ofShop ? 'shop' : 'attacker'] += stepMs;
        // What a meter measures.
        budgets.charge(next.ofShop ? buyer : attacker, stepMs, !next.ofShop && isExpensive());
        next.steps -= 1;
        if (next.steps > 0) queue.push(next);
        else next.end();
      }
      await vi.advanceTimersByTimeAsync(stepMs);
    }
    return { shop: took.shop / simulatedMs, attacker: took.attacker / simulatedMs, refused: took.refused, mostAtWork };
  }

  const list: TurnRoute = { id: 'list', method: 'GET', path: '/v1/products' };
  const cart: TurnRoute = { id: 'create', method: 'POST', path: '/v1/checkout/sessions' };
  const document: TurnRoute = { id: 'document', method: 'GET', path: '/v1/invoices/{id}/document' };
  const large = { enter: (turn: Turn) => turn.hasBody(40_000) };

  test.each<[string, Attack, number]>([
    ['lists with a live key', { route: list, perSecond: 100, costMs: 8 }, 0.1],
    ['lists with a test key', { route: list, perSecond: 25, costMs: 20, testMode: true }, 0.1],
    ['documents', { route: document, perSecond: 100, costMs: 40 }, 0.1],
    ['large carts with a live key', { route: cart, perSecond: 100, costMs: 210, ...large }, 0.1],
    ['large carts with a test key', { route: cart, perSecond: 25, costMs: 600, testMode: true, ...large }, 0.1],
    ['small requests over the limit', { route: cart, perSecond: 120, costMs: 7, isAtLimit: true }, 0.1],
    ['small requests of test mode', { route: cart, perSecond: 120, costMs: 7, testMode: true }, 0.1],
    [
      'small requests within the limit of its key',
      { route: cart, perSecond: 100, costMs: 10, steps: 10, limit: 100 },
      0.05,
    ],
    [
      'a burst of small requests within the limit of its key',
      { route: cart, perSecond: 400, costMs: 10, limit: 100 },
      0.05,
    ],
  ])(
    '%s take no more than their share, and the shop keeps 0.7 of its payments [D14.247] [D14.249]',
    async (_, attack, share) => {
      const found = await simulate(attack);
      // What is over is one request of the last moment, and the burst.
      const overMs = 50 + attack.costMs * Math.min(found.mostAtWork, 8);
      expect(found.attacker).toBeLessThanOrEqual(share + overMs / simulatedMs);
      expect(found.shop).toBeGreaterThanOrEqual(0.7);
      // Nor less.
      expect(found.attacker).toBeGreaterThan(share * 0.7);
      expect(found.attacker + found.shop).toBeCloseTo(1, 2);
    },
    30_000,
  );

  test('a shop with a limit loses none of its payments to an account that asks for little, in a process with time to spare [D14.249]', async () => {
    const set = { nowMs: 1_000 };
    const neighbors = new Neighbors({ isBusy: () => true, now: () => set.nowMs, utilization: () => 0.6 });
    const budgets = new CostBudgets(neighbors);
    const buyer = { accountId: 'facct_shop', testMode: false, perSecond: 100 };
    const bystander = { accountId: 'facct_bystander', testMode: false, perSecond: 100 };
    for (let payment = 0; payment < 600; payment++, set.nowMs += 10) {
      if (payment % 90 === 0) await neighbors.during(bystander, async () => budgets.charge(bystander, 1));
      // Sixty payments a second, of ten milliseconds each.
      if (payment % 10 < 6) {
        neighbors.saw(buyer);
        budgets.charge(buyer, 10, false);
      }
      expect(budgets.isOver(buyer)).toBe(false);
    }
    neighbors.arrived(bystander);
    expect(budgets.isOver(buyer)).toBe(true);
  });

  test('an account whose requests a limit refuses does not make another one wait [D14.249]', () => {
    const neighbors = new Neighbors({ isBusy: () => true });
    const budgets = new CostBudgets(neighbors);
    const buyer = { accountId: 'facct_shop', testMode: false, perSecond: 100 };
    const flood = { accountId: 'facct_flood', testMode: false, perSecond: 100 };
    neighbors.arrived(flood);
    // The refused requests take time that is not measured, and so raise what is charged for a payment.
    budgets.charge(buyer, 100, false, 5);
    expect(budgets.isOver(buyer)).toBe(true);
    neighbors.noteLimit(flood);
    expect(budgets.isOver(buyer)).toBe(false);
  });

  test.each([
    ['without a limit', {}],
    ['with the same limit', { limit: 100, limitOfShop: 100 }],
  ])('small requests of an account with a key %s take as much as the neighbor at most [D14.249]', async (_, limits) => {
    const found = await simulate({ route: cart, perSecond: 100, costMs: 10, steps: 10, ...limits });
    expect(found.shop).toBeGreaterThan(0.45);
    expect(found.attacker).toBeGreaterThan(0.4);
  });

  test('a shop that asks for a quarter of the process keeps 0.7 of its payments beside one with the same limit [D14.249]', async () => {
    const limits = { limit: 100, limitOfShop: 100 };
    const shop = { ...{ route: cart, costMs: 10, steps: 10, pauseMs: 310 }, ...limits };
    const alone = await simulate({ ...shop, perSecond: 0 });
    vi.useRealTimers();
    const beside = await simulate({ ...shop, perSecond: 100 });
    expect(alone.shop).toBeCloseTo(0.25, 2);
    expect(beside.shop / alone.shop).toBeGreaterThan(0.7);
  });
});
