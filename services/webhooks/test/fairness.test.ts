import type { Scope } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryInHand } from '../src/domain/delivery.ts';
import { Lanes } from '../src/jobs/delivery/lanes.ts';
import type { LaneRequest } from '../src/store/lanes.ts';
import { ample, type Fixture, openFixture, type Receiver, receiver, refundEvent, someScope } from './fixture.ts';

const limits = { perEndpointUnderWay: 4, underWay: 16, perEndpoint: 8, total: 64, atOnce: 32 };

describe('an account whose endpoints never answer', () => {
  let on: Fixture;
  let silent: Receiver;
  let prompt: Receiver;

  beforeAll(async () => {
    on = await openFixture({ limits }, 20_000);
  });
  beforeEach(async () => {
    silent = await receiver();
    silent.answerWith(() => undefined);
    prompt = await receiver();
  });
  afterEach(() => Promise.all([silent.close(), prompt.close()]));
  afterAll(() => on.close());

  it('takes half of the requests in flight, and delays no other account’s events', async () => {
    const slow = someScope();
    for (let i = 0; i < 10; i++) await on.endpoint(slow, `${silent.url}/${i}`);
    for (let i = 0; i < 4; i++) await on.consume(refundEvent(slow));
    await waitUntil(() => silent.received.length === limits.underWay / 2);

    const other = someScope();
    await on.endpoint(other, prompt.url);
    for (let i = 0; i < 30; i++) await on.consume(refundEvent(other));
    // As the job does: a claim passes over a lane that another transaction holds at that moment.
    const arrived = async () => {
      await on.worker.sweep();
      return prompt.received.length >= 30;
    };
    await waitUntil(arrived, { what: '30 deliveries to a prompt receiver' });
    expect(prompt.received).toHaveLength(30);
    expect(silent.received).toHaveLength(limits.underWay / 2);
  });
});

describe('the capacity for requests in flight', () => {
  it('is shared so that the account with the most leaves as much free', () => {
    const counts = [1, 2, 3, 15].map((accounts) => {
      const lanes = new Lanes(limits);
      const scopes = Array.from({ length: accounts }, () => someScope());
      for (const scope of scopes) for (let i = 0; i < 8; i++) give(lanes, scope, `we_${i}`, 2);
      const under = sendAll(lanes);
      return scopes.map(({ accountId }) => under.filter((one) => one === accountId).length);
    });
    expect(counts).toEqual([[8], [6, 5], [4, 4, 4], Array.from({ length: 15 }, () => 1)]);
  });

  it('is one account’s in both modes together', () => {
    const lanes = new Lanes(limits);
    const live = someScope(false);
    for (const scope of [live, { ...live, testMode: true }]) {
      for (let i = 0; i < 8; i++) give(lanes, scope, `we_${i}`, 2);
    }
    expect(sendAll(lanes)).toHaveLength(limits.underWay / 2);
  });

  it('is taken in turns by accounts, however many endpoints one has', () => {
    const lanes = new Lanes({ ...limits, underWay: 1_000 });
    const many = someScope();
    const one = someScope();
    for (let i = 0; i < 8; i++) give(lanes, many, `we_${i}`, 2);
    give(lanes, one, 'we_0', 4);
    const order = sendAll(lanes).slice(0, 8);
    expect(order.filter((accountId) => accountId === one.accountId)).toHaveLength(4);
  });
});

describe('an account that took its share of the process', () => {
  it('sends nothing more where it has many deliveries in hand, until it may go on, and delays no other [D14.371]', () => {
    const [many, few, other] = [someScope(), someScope(), someScope()];
    let isHeld = true;
    const lanes = new Lanes(
      { perEndpointUnderWay: 16, underWay: 1_000, perEndpoint: 256, total: 8_192, atOnce: 1_000 },
      ({ accountId }) => isHeld && accountId !== other.accountId,
    );
    for (let i = 0; i < 65; i++) give(lanes, many, `we_${i}`, 1);
    // As an ordinary account has them.
    for (let i = 0; i < 64; i++) give(lanes, few, `we_${i}`, 1);
    for (let i = 0; i < 65; i++) give(lanes, other, `we_${i}`, 1);
    const counts = (sent: readonly string[]) =>
      [many, few, other].map(({ accountId }) => sent.filter((one) => one === accountId).length);
    expect(counts(sendAll(lanes))).toEqual([0, 64, 65]);
    expect(lanes.areHeld).toBe(true);
    isHeld = false;
    expect(counts(sendAll(lanes))).toEqual([65, 0, 0]);
    expect(lanes.areHeld).toBe(false);
  });

  it('in test mode goes on in live mode, however much is in hand in test mode [D14.371]', () => {
    const live = someScope(false);
    const isTestHeld = (scope: Scope) => scope.testMode;
    const lanes = new Lanes(
      { perEndpointUnderWay: 16, underWay: 1_000, perEndpoint: 256, total: 8_192, atOnce: 1_000 },
      isTestHeld,
    );
    for (let i = 0; i < 65; i++) give(lanes, { ...live, testMode: true }, `we_${i}`, 1);
    for (let i = 0; i < 70; i++) give(lanes, live, `we_${i}`, 1);
    expect(sendAll(lanes)).toHaveLength(70);
    expect(lanes.areHeld).toBe(true);
    // The other way round, few in test mode do not wait because of many in live mode.
    const few = new Lanes(lanes.limits, () => true);
    for (let i = 0; i < 65; i++) give(few, live, `we_${i}`, 1);
    for (let i = 0; i < 3; i++) give(few, { ...live, testMode: true }, `we_${i}`, 1);
    expect(sendAll(few)).toHaveLength(3);
  });

  it('goes on by itself as soon as it may [D14.371]', async () => {
    let isHeld = true;
    const share = { ...ample, isSpent: () => isHeld };
    const slow = await openFixture({ share }, 20_000);
    const shop = await receiver();
    const scope = someScope();
    for (let i = 0; i < 70; i++) await slow.endpoint(scope, `${shop.url}/${i}`);
    await slow.consume(refundEvent(scope));
    isHeld = false;
    await waitUntil(() => shop.received.length === 70, { what: 'all deliveries' });
    await Promise.all([shop.close(), slow.close()]);
  });
});

describe('what can be in hand', () => {
  it('is asked for by every account, also by who comes last behind one with a thousand endpoints', () => {
    const lanes = new Lanes(limits);
    const many = someScope();
    for (let i = 0; i < 1_000; i++) lanes.wake(many, `we_${i}`);
    const last = someScope();
    lanes.wake(last, 'we_0');
    const asked = lanes.wanting();
    expect(asked.map(({ scope }) => scope)).toEqual([many, last]);
    expect(asked.map(({ requests }) => roomOf(requests))).toEqual([16, 8]);
  });

  it('is left half free by the account that has most, however much it has to send', () => {
    const lanes = new Lanes(limits);
    const many = someScope();
    for (let i = 0; i < 1_000; i++) lanes.wake(many, `we_${i}`);
    for (let turn = 0; turn < 10; turn++) {
      for (const { scope, requests } of lanes.wanting()) {
        claimAll(lanes, scope, requests);
      }
    }
    expect(lanes.all().reduce((sum, { inHand }) => sum + inHand.size, 0)).toBe(limits.total / 2);
    const last = someScope();
    lanes.wake(last, 'we_0');
    expect(lanes.wanting().map(({ scope, requests }) => [scope, roomOf(requests)])).toEqual([[last, 8]]);
  });

  it('goes to all endpoints of an account in turn', () => {
    const lanes = new Lanes({ ...limits, total: 8 });
    const scope = someScope();
    for (let i = 0; i < 12; i++) lanes.wake(scope, `we_${i}`);
    const served = new Set<string>();
    for (let turn = 0; turn < 6; turn++) {
      for (const { requests } of lanes.wanting()) {
        const got = claimAll(lanes, scope, requests);
        for (const { webhookId } of got) served.add(webhookId);
        lanes.done(scope, got);
      }
    }
    expect(served.size).toBe(12);
  });
});

let counted = 0;

function deliveries(webhookId: string, count: number): DeliveryInHand[] {
  return Array.from({ length: count }, () => {
    counted += 1;
    const delivery = { deliveryId: `d_${counted}`, webhookId, eventId: `e_${counted}`, eventType: 'refund.created' };
    return {
      ...{ ...delivery, attempts: 0, epoch: 1, dueAt: null, url: 'http://127.0.0.1', body: undefined },
      ...{ requestId: '', traceparent: '', sealedSecrets: [] },
    };
  });
}

/** Claims as much as is asked for, and gives it. */
function claimAll(lanes: Lanes, scope: Scope, requests: readonly LaneRequest[]): DeliveryInHand[] {
  lanes.claiming(scope, requests);
  const got = requests.flatMap(({ webhookId, room }) => deliveries(webhookId, room));
  lanes.claimed(scope, requests, got);
  return got;
}

/** Puts deliveries of an endpoint in hand, as a claim does. */
function give(lanes: Lanes, scope: Scope, webhookId: string, room: number): void {
  claimAll(lanes, scope, [{ webhookId, inHand: [], room }]);
}

/** Sends all that may be sent now; whose it is, in its order. */
function sendAll(lanes: Lanes): string[] {
  const sent: string[] = [];
  for (let turn = lanes.next(); turn !== undefined; turn = lanes.next()) sent.push(turn.lane.scope.accountId);
  return sent;
}

function roomOf(requests: readonly { room: number }[]): number {
  return requests.reduce((sum, { room }) => sum + room, 0);
}
