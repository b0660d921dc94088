import type { ServerResponse } from 'node:http';
import { isOwnWork, type Scope } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { fanOutEvents } from '../src/actions/fan-out-events.ts';
import { retryEvent } from '../src/actions/retry-event.ts';
import { updateEndpoint } from '../src/actions/update-endpoint.ts';
import type { Sender } from '../src/context.ts';
import { purgeEvents } from '../src/jobs/purge-events.ts';
import { releaseLanes, renewLanes } from '../src/store/lanes.ts';
import {
  asleep,
  type Fixture,
  inScope,
  openFixture,
  type Receiver,
  receiver,
  refundEvent,
  rowsOf,
  someScope,
} from './fixture.ts';

let on: Fixture;
let shop: Receiver;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  shop = await receiver();
});
afterEach(async () => {
  on.clock.reset();
  await shop.close();
});

const hours = (count: number) => count * 3_600_000;
const idsOf = (at: Receiver) => at.received.map(({ headers }) => String(headers['webhook-id']));

describe('a delivery that is handed over as it is planned', () => {
  // Plans like a sender that has room, and dies with the commit.
  const dying: Sender = {
    ...asleep,
    rooms: (_scope, endpoints, most) => new Map(endpoints.map(({ webhookId }) => [webhookId, most])),
  };
  afterEach(() => {
    on.webhooks.sender = on.worker;
    vi.restoreAllMocks();
  });

  it('takes one transaction to plan for all endpoints, and results that arrive together are recorded together', async () => {
    const scope = someScope();
    for (let i = 0; i < 8; i++) await on.endpoint(scope, `${shop.url}/${i}`);
    const responses: ServerResponse[] = [];
    shop.answerWith((_request, response) => {
      if (responses.push(response) === 8) for (const one of responses) one.end('ok');
    });
    const begun = vi.spyOn(on.database, 'checkOut');
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    expect(shop.received).toHaveLength(8);
    // The first result is recorded at once, and those that arrive meanwhile together: two records where all arrive in one turn, a few on a busy machine.
    expect(begun.mock.calls.length).toBeLessThanOrEqual(6);
    for (const row of await rowsOf(on, 'deliveries', scope)) expect(row).toMatchObject({ status: 'succeeded' });
    for (const row of await rowsOf(on, 'lanes', scope))
      expect(row).toMatchObject({ lease_until: null, handed_from: null });
  });

  it('is sent by another once the lease of a process that died with it is over, and the sweep knows when that is', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    const events = [refundEvent(scope), refundEvent(scope)];
    on.webhooks.sender = dying;
    for (const event of events) await on.consume(event);
    on.webhooks.sender = on.worker;
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([
      { status: 'pending', next_attempt_at: null },
      { status: 'pending', next_attempt_at: null },
    ]);
    const { dueInMs } = await on.worker.sweep();
    await on.worker.idle();
    expect(dueInMs).toBeGreaterThan(0);
    expect(dueInMs).toBeLessThanOrEqual(dying.leaseMs);
    expect(shop.received).toEqual([]);
    await on.admin(`update webhooks.lanes set lease_until = now() - interval '1 second' where account_id = $1`, [
      scope.accountId,
    ]);
    await on.worker.sweep();
    await on.worker.idle();
    expect(idsOf(shop).sort()).toEqual(events.map(({ eventId }) => eventId).sort());
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ lease_until: null, handed_from: null }]);
  });

  it('waits behind what a process that died was handed, and both are sent', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    const [lost, next] = [refundEvent(scope), refundEvent(scope)];
    on.webhooks.sender = dying;
    await on.consume(lost);
    on.webhooks.sender = on.worker;
    await on.admin(`update webhooks.lanes set lease_until = now() - interval '1 second' where account_id = $1`, [
      scope.accountId,
    ]);
    await on.consume(next);
    await on.worker.idle();
    expect(idsOf(shop).sort()).toEqual([lost.eventId, next.eventId].sort());
  });

  it('waits again when it could not be sent for a fault of the process', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    const event = refundEvent(scope);
    const secrets = await on.admin(
      `with gone as (delete from webhooks.endpoint_secrets where endpoint_id = $1 returning *) select * from gone`,
      [webhookId],
    );
    await on.consume(event);
    await on.worker.idle();
    expect(on.errors.splice(0)).toMatchObject([{ message: 'An endpoint has no signing secret' }]);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'pending', next_attempt_at: null }]);
    await on.admin(
      `insert into webhooks.endpoint_secrets (account_id, test_mode, endpoint_id, generation, sealed) values ($1, $2, $3, 1, $4)`,
      [scope.accountId, scope.testMode, webhookId, secrets[0]?.sealed],
    );
    await on.worker.sweep();
    await on.worker.idle();
    await on.worker.sweep();
    await on.worker.idle();
    expect(idsOf(shop)).toEqual([event.eventId]);
  });

  it('is not sent when what planned it was rolled back', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    const event = refundEvent(scope);
    const undone = inScope(on, scope, async (tx) => {
      await fanOutEvents(on.webhooks, tx, scope, [event]);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    await on.worker.idle();
    expect(shop.received).toEqual([]);
    await on.consume(event);
    await on.worker.idle();
    expect(idsOf(shop)).toEqual([event.eventId]);
  });

  it('is what a renewal finds lost, when no sender holds it', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    on.webhooks.sender = dying;
    await on.consume(refundEvent(scope));
    await on.consume(refundEvent(scope));
    const [first, second] = (await rowsOf(on, 'deliveries', scope)).map(({ id }) => String(id)).sort();
    const claimant = { owner: dying.owner, at: on.clock.now(), leaseMs: 60_000 };
    const lanes = [{ webhookId, oldest: second ?? '' }];
    expect(await inScope(on, scope, (tx) => renewLanes(tx, scope, lanes, claimant))).toEqual([webhookId]);
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ handed_from: second }]);
    const waiting = (await rowsOf(on, 'deliveries', scope)).filter(({ next_attempt_at: at }) => at !== null);
    expect(waiting).toMatchObject([{ id: first }]);
    expect(await inScope(on, scope, (tx) => releaseLanes(tx, scope, [webhookId], claimant))).toEqual([webhookId]);
    on.webhooks.sender = on.worker;
    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received).toHaveLength(2);
  });
});

describe('a process that dies', () => {
  // A lease is renewed once in a fifth of its time: as often as that, what `lapse` ended would go on.
  const renewsNothing = { leaseMs: 3_600_000 };

  it('between sending and recording leaves an event that is sent again under the same id', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const dying = on.anotherWorker({ failpoint: () => held, ...renewsNothing });
    const event = refundEvent(scope);
    on.webhooks.sender = asleep;
    await on.consume(event);
    on.webhooks.sender = on.worker;
    await dying.sweep();
    await untilReceived(1);

    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received).toHaveLength(1);
    await lapse(scope);
    await on.worker.sweep();
    await on.worker.idle();
    expect(idsOf(shop)).toEqual([event.eventId, event.eventId]);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
    release();
    await dying.idle();
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
  });

  it('after a failed attempt does not undo what another has done since', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const stopped = on.anotherWorker({ failpoint: () => held, ...renewsNothing });
    on.webhooks.sender = asleep;
    await on.consume(refundEvent(scope));
    on.webhooks.sender = on.worker;
    shop.answerWith((_request, response) => void response.writeHead(500).end());
    await stopped.sweep();
    await untilReceived(1);
    await lapse(scope);
    await on.worker.sweep();
    await on.worker.idle();
    const before = await rowsOf(on, 'deliveries', scope);
    expect(before).toMatchObject([{ status: 'pending', attempts: 1 }]);
    release();
    await stopped.idle();
    expect(await rowsOf(on, 'deliveries', scope)).toEqual(before);
    expect(await rowsOf(on, 'attempts', scope)).toHaveLength(2);
  });

  it('and is joined by another sends each event once between them', async () => {
    const scope = someScope();
    for (let i = 0; i < 10; i++) await on.endpoint(scope, `${shop.url}/${i}`);
    const other = on.anotherWorker();
    const count = 40;
    for (let i = 0; i < count; i++) await on.consume(refundEvent(scope));
    await Promise.all([on.worker.sweep(), other.sweep()]);
    await Promise.all([on.worker.idle(), other.idle()]);
    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received).toHaveLength(count * 10);
    expect(new Set(idsOf(shop)).size).toBe(count);
  });

  it('in good order leaves its endpoints to the next at once', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    const slow = await receiver();
    slow.answerWith((_request, response) => void setTimeout(() => response.end(), 300));
    await on.endpoint(scope, slow.url);
    const leaving = on.anotherWorker();
    on.webhooks.sender = asleep;
    for (let i = 0; i < 40; i++) await on.consume(refundEvent(scope));
    on.webhooks.sender = on.worker;
    await leaving.sweep();
    while (slow.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await leaving.stop();
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ lease_until: null }, { lease_until: null }]);
    await on.worker.sweep();
    await on.worker.idle();
    for (const at of [shop, slow]) expect(new Set(idsOf(at)).size).toBe(40);
    for (const at of [shop, slow]) expect(at.received).toHaveLength(40);
    await slow.close();
  });

  it('keeps its lanes from a second worker, which delivers as soon as they are free', async () => {
    const scope = someScope();
    const slow = await receiver();
    const held: ServerResponse[] = [];
    slow.answerWith((_request, response) => void held.push(response));
    const { webhookId } = await on.endpoint(scope, slow.url);
    const other = on.anotherWorker();
    await on.consume(refundEvent(scope));
    while (slow.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    on.webhooks.sender = other;
    await on.consume(refundEvent(scope));
    on.webhooks.sender = on.worker;
    expect(slow.received).toHaveLength(1);
    slow.answerWith((_request, response) => void response.end());
    for (const response of held) response.end();
    while (slow.received.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([on.worker.idle(), other.idle()]);
    expect(webhookId).toMatch(/^fwh_/);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
    await slow.close();
  });

  // As a minute later: the lease of whoever has the lanes is over.
  async function lapse({ accountId }: Scope): Promise<void> {
    await on.admin(`update webhooks.lanes set lease_until = now() - interval '1 second' where account_id = $1`, [
      accountId,
    ]);
  }

  async function untilReceived(count: number): Promise<void> {
    while (shop.received.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

describe('asking for an event again', () => {
  it('sends it under its id to the endpoints that want it now: given up, delivered, or never planned', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    const event = refundEvent(scope);
    await on.consume(event);
    await on.worker.idle();
    const late = await receiver();
    await on.endpoint(scope, late.url, ['refund.created']);
    await on.endpoint(scope, `${late.url}/unwanted`, ['customer.created']);
    await on.admin(
      `update webhooks.deliveries set status = 'exhausted', next_attempt_at = null where endpoint_id = $1`,
      [webhookId],
    );
    on.clock.advance(hours(24 * 29));
    await retryEvent(on.webhooks, scope, event.eventId);
    await on.worker.idle();
    expect(idsOf(shop)).toEqual([event.eventId, event.eventId]);
    expect(late.received.map(({ body }) => body)).toEqual([shop.received[0]?.body]);
    await late.close();
  });

  it('ends with the 30 days for which events are kept, as their rows do', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    const event = refundEvent(scope);
    await on.consume(event);
    await on.worker.idle();
    on.clock.advance(hours(24 * 30) + 1_000);
    await expect(retryEvent(on.webhooks, scope, event.eventId)).rejects.toMatchObject({ code: 'event_not_found' });
    await expect(retryEvent(on.webhooks, someScope(), event.eventId)).rejects.toMatchObject({
      code: 'event_not_found',
    });
    while (await purgeEvents(on));
    for (const table of ['events', 'deliveries', 'attempts']) expect(await rowsOf(on, table, scope)).toEqual([]);
  });

  it('deletes a whole day, even if it takes more than one run', async () => {
    const scope = someScope();
    const long = `now() - interval '31 days'`;
    await on.admin(
      `insert into webhooks.events (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at, created_at)
       select $1, true, 'fevt_' || n, 'refund.created', '', '', '', ${long}, ${long} from generate_series(1, 101) n`,
      [scope.accountId],
    );
    expect(await purgeEvents(on)).toBe(true);
    expect(await rowsOf(on, 'events', scope)).toHaveLength(1);
    expect(await purgeEvents(on)).toBe(false);
    expect(await rowsOf(on, 'events', scope)).toEqual([]);
  });

  it('works for a receiver that was disabled and is enabled again by an update [D13.9]', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    shop.answerWith((_request, response) => void response.writeHead(410).end());
    const event = refundEvent(scope);
    await on.consume(event);
    await on.worker.idle();
    shop.answerWith((_request, response) => void response.end());
    expect(await updateEndpoint(on.webhooks, scope, webhookId, {})).toMatchObject({ status: 'enabled' });
    await retryEvent(on.webhooks, scope, event.eventId);
    await on.worker.idle();
    expect(idsOf(shop)).toEqual([event.eventId, event.eventId]);
  });
});

it('claims, sends and records what a call of the account woke beside the calls of the account [D14.387]', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, shop.url);
  on.webhooks.sender = asleep;
  await on.consume(refundEvent(scope));
  on.webhooks.sender = on.worker;
  const marks: boolean[] = [];
  const checkOut = on.database.checkOut.bind(on.database);
  vi.spyOn(on.database, 'checkOut').mockImplementation((asked) => {
    if (asked?.accountId === scope.accountId) marks.push(isOwnWork());
    return checkOut(asked);
  });
  on.worker.wake(scope, [webhookId]);
  await on.worker.idle();
  vi.restoreAllMocks();
  expect(shop.received).toHaveLength(1);
  expect(marks.length).toBeGreaterThanOrEqual(2);
  expect(marks).not.toContain(false);
});
