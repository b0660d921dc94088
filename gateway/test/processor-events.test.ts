import { createHmac } from 'node:crypto';
import { Failure } from '@eligo/failures';
import { sandboxAccountOf } from '@eligo/processor';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventSources } from '../src/processor-events/event-sources.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

const connected = 'acct_connected1';
let on: TestGateway;
let stripeAccounts: Record<string, string>;
beforeAll(async () => {
  stripeAccounts = { facct_live: connected, facct_own: 'self' };
  on = await openTestGateway({
    ELIGO_SANDBOX_EVENTS_SECRET: 'whsec_new,whsec_old',
    ELIGO_STRIPE_EVENTS_SECRET: 'whsec_stripe',
    STRIPE_ACCOUNTS: JSON.stringify(stripeAccounts),
    ELIGO_RATE_LIMIT_FAILED_AUTH: '1000',
  });
});
afterAll(() => on.stop());
beforeEach(() => {
  on.peers.restore();
  on.peers.seen.length = 0;
});

const event = (fields: object = {}) => ({
  ...{ id: 'evt_1', object: 'event', type: 'refund.updated', created: 1_800_000_000, livemode: false },
  ...{ account: sandboxAccountOf({ accountId: on.accountId, testMode: true }), data: { object: { id: 're_1' } } },
  ...fields,
});

async function deliver(
  body: string,
  options: { name?: string; secret?: string; signed?: string; method?: string } = {},
) {
  const { name = 'sandbox', secret = 'whsec_new', signed = body, method = 'POST' } = options;
  const at = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${at}.${signed}`).digest('hex');
  const answer = await fetch(`${on.url}/processors/${name}/events`, {
    method,
    headers: { 'content-type': 'application/json', 'stripe-signature': `t=${at},v1=${v1}` },
    ...(method === 'POST' ? { body } : {}),
  });
  return { status: answer.status, body: await answer.json() };
}
const kept = () =>
  on.peers.seen.map(({ method, request, call }) => ({
    ...{ method, eventId: request.eventId, objectId: request.objectId, processor: request.processor },
    ...{ accountId: call.scope.accountId, testMode: call.scope.testMode },
  }));

it('hands a signed event to the service that keeps it, in the account and mode of its processor account [D14.120]', async () => {
  const received = { status: 200, body: { received: true } };
  expect(await deliver(JSON.stringify(event()))).toEqual(received);
  expect(await deliver(JSON.stringify(event()), { secret: 'whsec_old' })).toEqual(received);
  const live = event({ account: sandboxAccountOf({ accountId: on.accountId, testMode: false }) });
  expect(await deliver(JSON.stringify(live))).toEqual(received);
  const intent = event({ type: 'payment_intent.succeeded', data: { object: { id: 'pi_1' } } });
  expect(await deliver(JSON.stringify(intent))).toEqual(received);
  const stripe = { name: 'stripe', secret: 'whsec_stripe' };
  expect(await deliver(JSON.stringify(event({ account: connected, livemode: true })), stripe)).toEqual(received);
  expect(await deliver(JSON.stringify(event({ account: undefined, livemode: true })), stripe)).toEqual(received);
  const own = { method: 'acceptProcessorEvent', eventId: 'evt_1', objectId: 're_1', processor: 'sandbox' };
  const ofShop = { accountId: on.accountId, testMode: true };
  expect(kept()).toEqual([
    { ...own, ...ofShop },
    { ...own, ...ofShop },
    { ...own, ...ofShop, testMode: false },
    { ...own, ...ofShop, objectId: 'pi_1' },
    { ...own, processor: 'stripe', accountId: 'facct_live', testMode: false },
    { ...own, processor: 'stripe', accountId: 'facct_own', testMode: false },
  ]);
});

it('hands an event of an account at Stripe that is configured no longer to those who had it, and says which account it is of [D14.162]', async () => {
  const stripe = { name: 'stripe', secret: 'whsec_stripe' };
  const had = { acct_before: ['facct_live'], acct_of_two: ['facct_live', 'facct_own'] } as Record<string, string[]>;
  on.peers.answer('findAccountsAtProcessor', ({ processor, processorAccount }) => ({
    accounts: (processor === 'stripe' ? (had[String(processorAccount)] ?? []) : []).map((accountId) => ({
      ...{ accountId, testMode: false },
    })),
  }));
  for (const account of ['acct_before', 'acct_of_two', 'acct_stranger', connected, undefined]) {
    expect((await deliver(JSON.stringify(event({ account, livemode: true })), stripe)).status).toBe(200);
  }
  const accepted = on.peers.seen.filter(({ method }) => method === 'acceptProcessorEvent');
  expect(accepted.map(({ request, call }) => [request.processorAccount, call.scope.accountId])).toEqual([
    ['acct_before', 'facct_live'],
    ['acct_of_two', 'facct_live'],
    ['acct_of_two', 'facct_own'],
    [connected, 'facct_live'],
    ['self', 'facct_own'],
  ]);
  // Who had it cannot be found out: the processor delivers the event again.
  on.peers.answer('findAccountsAtProcessor', () => {
    throw new Failure('service_unavailable');
  });
  expect((await deliver(JSON.stringify(event({ account: 'acct_before', livemode: true })), stripe)).status).toBe(503);
});

it('answers and does not keep an event of another type, of an account that is not ours, or of Stripe’s test mode', async () => {
  const others = [
    { given: event({ type: 'customer.created' }) },
    { given: event({ account: 'acct_0123456789abcdef01234567' }) },
    { given: event({ account: undefined }) },
    { given: event({ account: connected }), options: { name: 'stripe', secret: 'whsec_stripe' } },
    { given: event({ account: 'acct_other', livemode: true }), options: { name: 'stripe', secret: 'whsec_stripe' } },
  ];
  on.peers.answer('findAccountsAtProcessor', () => ({ accounts: [] }));
  for (const { given, options } of others) {
    expect(await deliver(JSON.stringify(given), options)).toEqual({ status: 200, body: { received: true } });
  }
  expect(kept().filter(({ method }) => method === 'acceptProcessorEvent')).toEqual([]);
});

it('refuses what is not signed, is no event, is too large, or has no endpoint, and keeps nothing', async () => {
  const text = JSON.stringify(event());
  const refused = (status: number, code: string) => ({ status, body: { code, detail: expect.any(String) } });
  expect(await deliver(text, { secret: 'whsec_stripe' })).toEqual(refused(401, 'event_signature_invalid'));
  expect(await deliver(text, { signed: `${text} ` })).toEqual(refused(401, 'event_signature_invalid'));
  expect(await deliver('{"id":')).toEqual(refused(400, 'invalid_json'));
  expect(await deliver('{"id":"evt_1"}')).toEqual(refused(400, 'bad_request'));
  expect(await deliver(`"${'x'.repeat(1_048_576)}"`)).toEqual(refused(413, 'payload_too_large'));
  expect(await deliver(text, { name: 'elsewhere' })).toEqual(refused(404, 'not_found'));
  expect(await deliver(text, { method: 'GET' })).toEqual(refused(405, 'method_not_allowed'));
  expect(kept()).toEqual([]);
});

it('refuses an event that could not be stored, so that the processor delivers it again', async () => {
  on.peers.answer('acceptProcessorEvent', () => {
    throw new Failure('service_unavailable');
  });
  expect((await deliver(JSON.stringify(event()))).status).toBe(503);
});

it('asks its database once whose an account at the sandbox is, and each time whose an unknown one is', async () => {
  let asked = 0;
  const database = new Proxy(on.database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'row') asked += 1;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const settings = { sandboxSecrets: ['whsec_1'], stripeSecrets: [], stripeAccounts: new Map<string, string>() };
  const [sandbox] = eventSources(settings, database, async () => []);
  const ownersOf = (processorAccount: string) =>
    sandbox?.accountsOf({
      ...{ eventId: 'evt_1', type: 'refund.updated', objectId: 're_1', createdAt: new Date(), isLive: false },
      processorAccount,
    });
  const scope = { accountId: on.accountId, testMode: true };
  for (let times = 0; times < 3; times += 1) expect(await ownersOf(sandboxAccountOf(scope))).toEqual([scope]);
  expect(asked).toBe(1);
  for (let times = 0; times < 2; times += 1) expect(await ownersOf('acct_0123456789abcdef01234567')).toEqual([]);
  expect(asked).toBe(3);
});
