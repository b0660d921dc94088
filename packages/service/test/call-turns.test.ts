import { eventsMigrations } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { client, implement, inProcessTransport, rpcServer } from '@eligo/rpc';
import { grpcTransport, serveGrpc } from '@eligo/rpc/grpc';
import { waitUntil } from '@eligo/testkit';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  buildService,
  CostBudgets,
  CostMeter,
  createLogger,
  Neighbors,
  operatorMigrations,
  processTurns,
  readinessCaller,
} from '../src/index.ts';
import { callTurns } from '../src/turns/call-turns.ts';
import { catalogEnvironment, identityOf, serviceDatabase } from './support.ts';

const gateway = identityOf('gateway');
const billing = identityOf('billing');

test('while another account is short of time, an account has eight calls of its keys at work at a service; the next begins when one ends [D14.248]', async () => {
  const { checkout, atWork, end } = await served();
  const calls = Array.from({ length: 10 }, () => checkout.getSession({ id: 'x' }, byKey('facct_1')));
  await waitUntil(() => atWork.length === 8);
  // The other account's is at work at once, and it is the ninth.
  const others = checkout.getSession({ id: 'x' }, byKey('facct_2'));
  await waitUntil(() => atWork.at(-1) === 'facct_2');
  expect(atWork).toHaveLength(9);
  end();
  await waitUntil(() => atWork.length === 10);
  end(9);
  await waitUntil(() => atWork.length === 11);
  end();
  await Promise.all([...calls, others]);
});

test.each(['listLetters', 'listSessions'] as const)(
  'a call of %s begins only while the budget of its account is not used up, in which all of its process counts [D14.248]',
  async (method) => {
    const { checkout, here, set, atWork, end } = await served();
    here.budgets.charge({ accountId: 'facct_1', testMode: false }, 200);
    const list = call(checkout, method, 'facct_1');
    // A read of one record, and the other account's list, go on.
    const small = checkout.getSession({ id: 'x' }, byKey('facct_1'));
    const others = call(checkout, method, 'facct_2');
    await waitUntil(() => atWork.length === 2);
    expect(atWork.toSorted()).toEqual(['facct_1', 'facct_2']);
    end(2);
    await Promise.all([small, others]);
    set.nowMs += 1_499;
    here.neighbors.saw({ accountId: 'facct_2', testMode: false });
    expect(here.budgets.isSpent({ accountId: 'facct_1', testMode: false })).toBe(true);
    set.nowMs += 2;
    await waitUntil(() => atWork.length === 3);
    end();
    await list;
  },
);

test('what waits for two seconds is refused with 503, and what finds 400 of its account waiting with 429, each with Retry-After [D14.248]', async () => {
  const { checkout, here, atWork } = await served();
  here.budgets.charge({ accountId: 'facct_1', testMode: false }, 2_000);
  const refused = await Promise.all(
    Array.from({ length: 401 }, () => failureOf(call(checkout, 'listLetters', 'facct_1'))),
  );
  const of = (code: string) => refused.filter((failure) => failure.code === code && failure.retryAfterSeconds === 1);
  expect([of('rate_limited').length, of('service_unavailable').length]).toEqual([1, 400]);
  expect(atWork).toEqual([]);
});

test('of an account in test mode, two calls are at work while another one asks in live mode [D14.242, D14.248]', async () => {
  const { checkout, here, set, atWork, end } = await served();
  const calls = Array.from({ length: 4 }, () => checkout.getSession({ id: 'x' }, byKey('facct_2', undefined, true)));
  await waitUntil(() => atWork.length === 2);
  // Eight of the account in live mode go before those that wait.
  const live = Array.from({ length: 8 }, () => checkout.getSession({ id: 'x' }, byKey('facct_1')));
  await waitUntil(() => atWork.length === 10);
  expect(atWork.slice(2)).toEqual(Array.from({ length: 8 }, () => 'facct_1'));
  end(10);
  await Promise.all(live);
  set.nowMs += 1_001;
  here.neighbors.saw({ accountId: 'facct_1', testMode: true });
  await waitUntil(() => atWork.length === 12);
  end(2);
  await Promise.all(calls);
});

test('calls of services, of pages and of an account that is alone, and of a process with time to spare, never wait [D14.248]', async () => {
  const { checkout, asBilling, set, here, atWork, end } = await served();
  here.budgets.charge({ accountId: 'facct_1', testMode: false }, 500);
  const page = gateway.callerFor({ accountId: 'facct_1', testMode: false });
  const own = billing.callerFor({ accountId: 'facct_1', testMode: false, keyId: 'fkey_1' });
  const calls = Array.from({ length: 12 }, () => [
    asBilling.getSession({ id: 'x' }, { caller: own }),
    checkout.getSession({ id: 'x' }, { caller: page }),
  ]).flat();
  await waitUntil(() => atWork.length === 24);
  set.isBusy = false;
  calls.push(...Array.from({ length: 12 }, () => checkout.getSession({ id: 'x' }, byKey('facct_1'))));
  await waitUntil(() => atWork.length === 36);
  end(36);
  await Promise.all(calls);
});

test('a read of a readiness check takes no turn, and the account that is alone at the service stays alone [D14.242]', async () => {
  const { checkout, here, set, atWork, end } = await served();
  set.nowMs += 1_001;
  const own = checkout.getSession({ id: 'x' }, byKey('facct_1'));
  await waitUntil(() => atWork.length === 1);
  const check = checkout.listLetters({}, { caller: gateway.callerFor(readinessCaller) });
  await waitUntil(() => atWork.length === 2);
  expect(here.neighbors.areShort('facct_1')).toBe(false);
  end(2);
  await Promise.all([own, check]);
  expect([here.neighbors.areShort('facct_1'), here.neighbors.areShort('facct_2')]).toEqual([false, true]);
});

test('a call in one process with the gateway does not wait again: its request has had its turn [D14.248]', async () => {
  const { server, here, end, atWork } = await served();
  here.budgets.charge({ accountId: 'facct_1', testMode: false }, 500);
  const inProcess = client(CheckoutService, inProcessTransport(server), gateway);
  const work = { caller: { accountId: 'facct_1', testMode: false }, isExpensive: true };
  const list = here.meter.run(work, () => inProcess.listLetters({}, byKey('facct_1')));
  await waitUntil(() => atWork.length === 1);
  end();
  await list;
});

test('an account whose caller does not read a stream waits for no answer meanwhile [D14.249]', async () => {
  const { server, here, end, atWork } = await served();
  const inProcess = client(CheckoutService, inProcessTransport(server), gateway);
  const answers = inProcess.listSessions({}, byKey('facct_1'))[Symbol.asyncIterator]();
  const others = () => [...here.neighbors.othersOf({ accountId: 'facct_2', testMode: false })];
  const first = answers.next();
  await waitUntil(() => atWork.length === 1);
  expect(others()).toEqual(['facct_1']);
  end();
  expect((await first).done).toBe(false);
  expect(others()).toEqual([]);
  expect((await answers.next()).done).toBe(true);
  expect([others(), here.neighbors.areShort('facct_2')]).toEqual([[], true]);
});

describe('a service holds an account to the share of its key', () => {
  const limit = 100;

  test('no call of a key begins while its account took more than its share and another one waits for an answer; other calls go on [D14.249]', async () => {
    const { checkout, asBilling, here, set, atWork, end } = await served();
    here.budgets.charge({ accountId: 'facct_1', testMode: false, perSecond: limit }, 150, false);
    const others = checkout.getSession({ id: 'x' }, byKey('facct_2', limit));
    await waitUntil(() => atWork.length === 1);
    const page = gateway.callerFor({ accountId: 'facct_1', testMode: false });
    const goesOn = [
      // The gateway is older, or the key has no limit.
      checkout.getSession({ id: 'x' }, byKey('facct_1')),
      checkout.getSession({ id: 'x' }, { caller: page }),
      asBilling.getSession({ id: 'x' }, carriedOn('facct_1', limit)),
    ];
    await waitUntil(() => atWork.length === 4);
    const held = checkout.getSession({ id: 'x' }, byKey('facct_1', limit));
    // Those of the other account show that more time has passed than a call takes to arrive.
    const more = [checkout.getSession({ id: 'x' }, byKey('facct_2', limit))];
    await waitUntil(() => atWork.length === 5);
    expect(atWork.at(-1)).toBe('facct_2');
    set.nowMs += 2_001;
    await waitUntil(() => atWork.length === 6);
    expect(atWork.at(-1)).toBe('facct_1');
    end(6);
    await Promise.all([others, ...goesOn, held, ...more]);
  });

  test('a call that waits begins when no other account waits any more, and calls that are over or refused make none wait [D14.249]', async () => {
    const { checkout, here, atWork, end } = await served();
    here.budgets.charge({ accountId: 'facct_1', testMode: false, perSecond: limit }, 150, false);
    const others = checkout.getSession({ id: 'x' }, byKey('facct_2', limit));
    await waitUntil(() => atWork.length === 1);
    const refused = await failureOf(checkout.getSession({ id: 'x' }, byKey('facct_1', limit)));
    expect(refused).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    const held = checkout.getSession({ id: 'x' }, byKey('facct_1', limit));
    end();
    await others;
    await waitUntil(() => atWork.length === 2);
    // None of the first account's calls that are over makes the other one wait.
    end();
    await held;
    expect([...here.neighbors.othersOf({ accountId: 'facct_2', testMode: false })]).toEqual([]);
  });

  test.each([
    ['the gateway', 'a key', () => byKey('facct_1', limit), limit],
    ['a service that continues the work', 'a key', () => carriedOn('facct_1', limit), limit],
    ['the gateway', 'a key without a limit', () => byKey('facct_1'), undefined],
    ['a service', 'its own, whatever limit it tells', () => ownCall(1_000_000), undefined],
  ])(
    'the time of a call that %s makes for %s counts by the limit that the gateway signed [D14.249]',
    async (from, _, as, perSecond) => {
      const { checkout, asBilling, here, atWork, end } = await served();
      const charged = vi.spyOn(here.budgets, 'charge');
      // A service's own work is measured while that of others is.
      here.meter.run(
        { caller: { accountId: 'facct_2', testMode: false, perSecond: 100 }, isExpensive: false },
        () => undefined,
      );
      const called = (from === 'the gateway' ? checkout : asBilling).getSession({ id: 'x' }, as());
      await waitUntil(() => atWork.length === 1);
      end();
      await called;
      await waitUntil(() => charged.mock.calls.length > 0);
      expect(charged.mock.calls[0]?.[0]).toEqual({ accountId: 'facct_1', testMode: false, perSecond });
    },
  );
});

test("a service's own work has nobody's work measured", async () => {
  const { asBilling, here, atWork, end } = await served();
  const called = asBilling.getSession({ id: 'x' }, ownCall(0));
  await waitUntil(() => atWork.length === 1);
  end();
  await called;
  expect(here.meter.isMeasuring).toBe(false);
});

test('a service has at most eight calls of an account at work while another account is short of time [D14.248]', async () => {
  const short = vi.spyOn(processTurns().neighbors, 'areShort').mockReturnValue(true);
  onTestFinished(() => short.mockRestore());
  const ends: (() => void)[] = [];
  const database = await serviceDatabase('catalog');
  const priced = implement(CatalogService, {
    getPrice: async ({ id }) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return { priceId: id };
    },
  });
  const service = await buildService(
    { name: 'catalog', migrations: [eventsMigrations, operatorMigrations], build: () => ({ handlers: [priced] }) },
    { environment: catalogEnvironment(database.url), logger: createLogger({ service: 'catalog', level: 'silent' }) },
  );
  onTestFinished(async () => {
    await service.stop();
    await database.drop();
  });
  const catalog = client(CatalogService, inProcessTransport(service.server), gateway);
  const caller = gateway.callerFor({ accountId: 'facct_1', testMode: true, keyId: 'fkey_1' });
  const calls = Array.from({ length: 9 }, () => catalog.getPrice({ id: 'fprice_1' }, { caller }));
  await waitUntil(() => ends.length === 8);
  ends.shift()?.();
  await waitUntil(() => ends.length === 8);
  for (const end of ends) end();
  await Promise.all(calls);
});

/** A service whose calls are at work until they are ended, over gRPC, in a process that is short of time for two accounts. */
async function served() {
  const set = { nowMs: 1_000, isBusy: true };
  const neighbors = new Neighbors({ isBusy: () => set.isBusy, now: () => set.nowMs });
  for (const accountId of ['facct_1', 'facct_2']) neighbors.saw({ accountId, testMode: false });
  const budgets = new CostBudgets(neighbors);
  const here = { neighbors, budgets, meter: new CostMeter(neighbors, budgets) };
  const atWork: string[] = [];
  const ends: (() => void)[] = [];
  const work = async (accountId: string) => {
    atWork.push(accountId);
    await new Promise<void>((resolve) => ends.push(resolve));
    return {};
  };
  const handlers = [
    implement(CheckoutService, {
      getSession: (_, { scope }) => work(scope.accountId),
      listLetters: (_, { scope }) => work(scope.accountId),
      async *listSessions(_, { scope }) {
        await work(scope.accountId);
        yield {};
      },
    }),
  ];
  const server = rpcServer({ handlers, identity: identityOf('checkout'), takeTurn: callTurns(here) });
  const listener = await serveGrpc({ server, host: '127.0.0.1', port: 0 });
  const transport = grpcTransport({ address: `http://127.0.0.1:${listener.port}` });
  onTestFinished(async () => {
    transport.close();
    await listener.stop(1_000);
  });
  const end = (count = 1) => {
    for (const resolve of ends.splice(0, count)) resolve();
  };
  return {
    ...{ server, set, here, atWork, end },
    checkout: client(CheckoutService, transport, gateway),
    asBilling: client(CheckoutService, transport, billing),
  };
}

type Served = Awaited<ReturnType<typeof served>>;

function byKey(accountId: string, requestsPerSecond?: number, testMode = false) {
  return { caller: gateway.callerFor({ accountId, testMode, keyId: 'fkey_1', requestsPerSecond }) };
}

// As billing received it from the gateway.
function carriedOn(accountId: string, requestsPerSecond: number) {
  const token = gateway.tokenOf(byKey(accountId, requestsPerSecond).caller) ?? '';
  return { caller: billing.verifyCaller(token, 'gateway') };
}

function ownCall(requestsPerSecond: number) {
  const account = { accountId: 'facct_1', testMode: false, keyId: 'fkey_1' };
  return { caller: billing.callerFor({ ...account, requestsPerSecond }) };
}

async function call(
  checkout: Served['checkout'],
  method: 'listLetters' | 'listSessions',
  accountId: string,
): Promise<void> {
  if (method === 'listLetters') await checkout.listLetters({}, byKey(accountId));
  else for await (const _ of checkout.listSessions({}, byKey(accountId)));
}

async function failureOf(called: Promise<unknown>): Promise<Partial<Failure>> {
  return called.then(
    () => ({}),
    (error) => (error instanceof Failure ? error : {}),
  );
}
