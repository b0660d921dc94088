import { type Scope, withTx } from '@eligo/postgres';
import { sandboxAccountOf } from '@eligo/processor';
import { eventTypesOf } from '@eligo/processor/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import type { ProcessorAccount } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TokenBucket } from '../src/domain/token-bucket.ts';
import {
  accountsAtProcessor,
  claimEventList,
  eventListLagSeconds,
  finishReading,
  saveReading,
  watchEventList,
} from '../src/store/event-lists.ts';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => {
  turnFailpointsOff();
  turnFailpointsOn();
});

const former: ProcessorAccount = { processor: 'sandbox', account: 'acct_formeraccount' };
const hour = 3_600_000;

// Its first payment is known to checkout, and its list of events is found.
async function paid(card: 'hsa' | 'refund_pending' = 'hsa', at?: ProcessorAccount) {
  const scope = someScope();
  const session = await on.paid(scope, { [card]: 2_000 }, at);
  on.checkout.accountsWithPayments.push({
    ...scope,
    ...(at === undefined ? {} : { processor: at.processor, processorAccount: at.account }),
  });
  while ((await on.service.jobs.runOnce('find-event-lists')) === true);
  return { scope, session, chargeId: session.cards[0]?.processorChargeId ?? '' };
}

async function read(scope: Scope): Promise<void> {
  await on.admin(
    `update refunds.event_lists set next_read_at = now() - interval '1 second', lease_until = now() - interval '1 second'
      where account_id = $1`,
    [scope.accountId],
  );
  while ((await on.service.jobs.runOnce('read-event-lists')) === true);
  await on.handleEvents();
}

const lists = (scope: Scope) =>
  on.admin<{ processor_account: string; read_to: Date; reading_to: Date | null; reading_after: string | null }>(
    'select processor_account, read_to, reading_to, reading_after from refunds.event_lists where account_id = $1 order by 1',
    [scope.accountId],
  );
const stored = (scope: Scope) =>
  on.admin<{ id: string; type: string; status: string; checks: number; object_id: string }>(
    'select id, type, status, checks, object_id from refunds.processor_events where account_id = $1 order by type, id',
    [scope.accountId],
  );
const disputes = async (scope: Scope) =>
  (await on.refunds.listDisputes({ page: { limit: 10n } }, on.as(scope))).disputes;

describe('the processor’s list of events', () => {
  it('shows a dispute none of whose events was delivered, and counts one that is delivered late once [D14.161]', async () => {
    const { scope, session, chargeId } = await paid();
    await on.port(scope).testBank.disputeCharge({ chargeId });
    await on.handleEvents();
    expect(await disputes(scope)).toEqual([]);
    await read(scope);
    expect(await disputes(scope)).toMatchObject([
      { status: 'needs_response', chargeId: session.cards[0]?.chargeId, amountCents: 2_000n },
    ]);
    const events = await stored(scope);
    expect(events.map(({ type }) => type)).toEqual(['charge.dispute.created', 'charge.dispute.funds_withdrawn']);
    expect(events.map(({ status, checks }) => [status, checks])).toEqual(Array(2).fill(['handled', 1]));
    const [created] = events;
    await on.arrives(scope, 'charge.dispute.created', created?.object_id ?? '', created?.id);
    await read(scope);
    expect(await stored(scope)).toEqual(events);
    expect(await disputes(scope)).toHaveLength(1);
  });

  it('ends the same when its events were delivered before, twice or out of order [D14.161, D14.120]', async () => {
    const { scope, session } = await paid('refund_pending');
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await on.sweep();
    const [atProcessor] = await on.atProcessor(session);
    await on.port(scope).testBank.succeedRefund(atProcessor?.id ?? '');
    const page = await on.port(scope).listEvents({ types: eventTypesOf('refunds'), from: new Date(0) });
    if (page.kind !== 'page') throw new Error('the sandbox lists no events');
    expect(page.lastId).toBe(page.events.at(-1)?.eventId);
    for (const event of [...page.events, ...page.events]) {
      await on.arrives(scope, event.type, event.objectId, event.eventId);
    }
    await read(scope);
    await untilStatus(on, scope, id, 'succeeded');
    const events = await stored(scope);
    expect(events).toHaveLength(page.events.length);
    expect(events.every(({ status }) => status === 'handled')).toBe(true);
  });

  it('is read to its end after an endpoint was away, from where a process that died had come to [D14.161]', async () => {
    const { scope, chargeId } = await paid();
    const port = on.port(scope);
    const { disputeId } = await port.testBank.disputeCharge({ chargeId }).then((dispute) => {
      if (dispute.kind !== 'found') throw new Error('the sandbox made no dispute');
      return dispute;
    });
    // More than a page of a hundred.
    for (let move = 0; move < 102; move++) {
      await port.testBank.moveDispute(disputeId, move % 2 === 0 ? 'under_review' : 'needs_response');
    }
    armFailpoint('event_list.after_page', { action: 'error' });
    await on.admin(`update refunds.event_lists set next_read_at = now() - interval '1 second' where account_id = $1`, [
      scope.accountId,
    ]);
    await on.service.jobs.runOnce('read-event-lists');
    const [before] = await lists(scope);
    const place = (await stored(scope)).length;
    expect(place).toBe(100);
    expect(before).toMatchObject({ reading_to: expect.any(Date), reading_after: expect.stringMatching(/^evt_/) });
    turnFailpointsOff();
    await on.restart();
    await on.arrives(scope, 'charge.dispute.updated', disputeId, 'evt_after_the_place');
    await read(scope);
    const all = await stored(scope);
    expect(all.length).toBeGreaterThan(104);
    expect(all.filter(({ type }) => type === 'charge.dispute.created')).toHaveLength(1);
    const [after] = await lists(scope);
    expect(after).toMatchObject({ reading_to: null, reading_after: null, read_to: before?.reading_to });
    expect(await disputes(scope)).toMatchObject([{ status: 'needs_response' }]);
  });

  it.each(['error_before', 'drop_after', 'rate_limited'])(
    'keeps its watermark when the processor answers with %s, and is read later [D14.161]',
    async (kind) => {
      const { scope, chargeId } = await paid();
      await on.port(scope).testBank.disputeCharge({ chargeId });
      const [before] = await lists(scope);
      await on.fault({ call: 'events.list', kind });
      await on.admin(
        `update refunds.event_lists set next_read_at = now() - interval '1 second' where account_id = $1`,
        [scope.accountId],
      );
      await on.service.jobs.runOnce('read-event-lists');
      expect(await lists(scope)).toEqual([before]);
      expect(await stored(scope)).toEqual([]);
      await read(scope);
      expect(await disputes(scope)).toHaveLength(1);
      const [after] = await lists(scope);
      expect(after?.read_to.getTime()).toBeGreaterThan(before?.read_to.getTime() ?? 0);
    },
  );

  it('keeps an event of an object that Eligo did not make for an hour, and drops it [D14.161, D14.120]', async () => {
    const { scope, session } = await paid();
    on.checkout.forgets(session.id);
    await on.port(scope).testBank.disputeCharge({ chargeId: session.cards[0]?.processorChargeId ?? '' });
    await read(scope);
    expect((await stored(scope)).map(({ status }) => status)).toEqual(['waiting', 'waiting']);
    await on.admin(
      `update refunds.processor_events set received_at = now() - interval '61 minutes' where account_id = $1`,
      [scope.accountId],
    );
    await on.handleEvents();
    expect((await stored(scope)).map(({ status }) => status)).toEqual(['dropped', 'dropped']);
    expect(await disputes(scope)).toEqual([]);
  });

  it('of an account that has no new money stays read, and its dispute is answered there [D14.162, D14.105]', async () => {
    const { scope, chargeId } = await paid('hsa', former);
    const current = sandboxAccountOf(scope);
    expect((await lists(scope)).map((list) => list.processor_account).sort()).toEqual([former.account, current].sort());
    const bank = on.portAt(scope, former);
    await bank.testBank?.disputeCharge({ chargeId });
    await read(scope);
    const [dispute] = await disputes(scope);
    expect(dispute).toMatchObject({ status: 'needs_response', amountCents: 2_000n });
    const given = { id: dispute?.disputeId ?? '', evidence: { product_description: 'A monitor' } };
    expect(await on.refunds.updateDispute(given, on.as(scope))).toMatchObject({ evidence: given.evidence });
  });

  it('need not be read for an event that is delivered with its former account [D14.162]', async () => {
    const { scope, chargeId } = await paid('hsa', former);
    const dispute = await on.portAt(scope, former).testBank?.disputeCharge({ chargeId });
    if (dispute?.kind !== 'found') throw new Error('the sandbox made no dispute');
    const event = { processor: 'sandbox', eventId: 'evt_former', type: 'charge.dispute.created', createdAtMs: 1n };
    const { disputeId: objectId } = dispute;
    await on.refunds.acceptProcessorEvent({ ...event, objectId, processorAccount: former.account }, on.as(scope));
    await on.handleEvents();
    expect(await disputes(scope)).toMatchObject([{ status: 'needs_response' }]);
  });

  it('names the accounts that have, or had, an account of the processor [D14.162]', async () => {
    const { scope } = await paid('hsa', { processor: 'sandbox', account: 'acct_accountoftwo' });
    const other = await paid('hsa', { processor: 'sandbox', account: 'acct_accountoftwo' });
    const asked = { processor: 'sandbox', processorAccount: 'acct_accountoftwo' };
    const { accounts } = await on.refunds.findAccountsAtProcessor(asked, {});
    expect(accounts.map(({ accountId }) => accountId).sort()).toEqual([scope.accountId, other.scope.accountId].sort());
    expect(await accountsAtProcessor(on.service.database, 'stripe', 'acct_accountoftwo')).toEqual([]);
  });

  it('is found for every account, in pages, and each once [D14.161]', async () => {
    const scopes = Array.from({ length: 501 }, someScope);
    const ids = scopes.map(({ accountId }) => accountId);
    on.checkout.accountsWithPayments.push(...scopes);
    const found = async () => {
      while ((await on.service.jobs.runOnce('find-event-lists')) === true);
      return on.admin<{ xmin: string }>('select xmin::text from refunds.event_lists where account_id = any ($1)', [
        ids,
      ]);
    };
    const first = await found();
    expect(first).toHaveLength(501);
    expect(await found()).toEqual(first);
    on.checkout.accountsWithPayments.splice(0);
    await on.admin('delete from refunds.event_lists where account_id = any ($1)', [ids]);
  });
});

describe('the watermark', () => {
  it('is how far behind the readings are [D14.161]', async () => {
    await on.admin('delete from refunds.event_lists');
    expect(await eventListLagSeconds(on.service.database)).toBe(0);
    const { scope } = await paid();
    expect(await eventListLagSeconds(on.service.database)).toBeGreaterThan(29 * 86_400);
    await read(scope);
    const lag = await eventListLagSeconds(on.service.database);
    expect(lag).toBeGreaterThanOrEqual(300);
    expect(lag).toBeLessThan(400);
  });

  it('does not move back, and only the process that has the lease moves it: the constraints alone refuse', async () => {
    const scope = someScope();
    const list = { scope, account: { processor: 'sandbox', account: sandboxAccountOf(scope) } as const };
    const { database } = on.service;
    await withTx(database, scope, (tx) => watchEventList(tx, list, new Date(Date.now() - hour), -1_000));
    // A lease that is over: its end is kept in whole milliseconds, rounded, so one of 0 ms may last for half of one.
    const claim = () => withTx(database, scope, (tx) => claimEventList(tx, list, -1_000));
    const first = await claim();
    const second = await claim();
    if (first === undefined || second === undefined) throw new Error('the list was not claimed');
    const now = new Date();
    await expect(withTx(database, scope, (tx) => finishReading(tx, first, now, 0))).rejects.toThrow(/taken over/);
    await expect(withTx(database, scope, (tx) => saveReading(tx, first, now, 'evt_1', 0))).rejects.toThrow(
      /taken over/,
    );
    await withTx(database, scope, (tx) => finishReading(tx, second, now, 0));
    const set = (text: string) =>
      on.admin(`update refunds.event_lists set ${text} where account_id = $1`, [scope.accountId]);
    await expect(set(`read_to = read_to - interval '1 second'`)).rejects.toThrow(/does_not_move_back/);
    await expect(set(`reading_after = 'evt_1'`)).rejects.toThrow(/only_a_reading_has_a_place/);
    await expect(set(`reading_to = read_to`)).rejects.toThrow(/a_reading_moves_the_watermark/);
    await expect(set(`processor = 'stripe'`)).rejects.toThrow(/test_mode_is_at_the_sandbox/);
    await set(`next_read_at = now() + interval '1 day'`);
  });
});

it('lets calls through at its pace: a burst, and then so many a second', () => {
  let now = 0;
  const bucket = new TokenBucket({ burst: 3, perSecond: 5 }, () => now);
  expect([1, 2, 3, 4, 5].map(() => bucket.takeInMs())).toEqual([0, 0, 0, 200, 400]);
  now = 10_000;
  expect([1, 2, 3, 4].map(() => bucket.takeInMs())).toEqual([0, 0, 0, 200]);
});
