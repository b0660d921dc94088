import { type Scope, withTx } from '@eligo/postgres';
import type { RefundOutcome } from '@eligo/processor';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { lookAtRefund } from '../src/actions/look-at-refund.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Context } from '../src/context.ts';
import { eventFailpoints } from '../src/failpoints.ts';
import { dueEventObjects, firstPlace, pruneProcessorEvents } from '../src/store/processor-events.ts';
import { books, eventsOf, type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => {
  turnFailpointsOff();
  turnFailpointsOn();
});

const stateOf = async (eventId: string) => {
  const [row] = await on.admin<{ status: string; checks: number }>(
    'select status, checks from refunds.processor_events where id = $1',
    [eventId],
  );
  return row;
};
const processorRefundOf = async (refundId: string) => {
  const [row] = await on.admin<{ processor_refund_id: string }>(
    'select processor_refund_id from refunds.refund_attempts where refund_id = $1 and processor_refund_id is not null',
    [refundId],
  );
  return row?.processor_refund_id ?? '';
};

async function refunded(card: 'hsa' | 'refund_pending', status: string) {
  const scope = someScope();
  const session = await on.paid(scope, { [card]: 2_000 });
  const { refund } = await on.refunds.refundSession(
    { sessionId: session.id, instruction: { amountCents: 600n } },
    on.as(scope),
  );
  const id = refund?.refundId ?? '';
  await untilStatus(on, scope, id, status);
  if (status === 'pending') await on.sweep();
  return { scope, session, id, atProcessor: await processorRefundOf(id) };
}

const statusOf = async (scope: Scope, id: string) => (await on.refunds.getRefund({ id }, on.as(scope))).status;

describe('refunds move by the events of the processor', () => {
  it('takes the state that it fetches, also of events that come twice, together and out of order [D14.121]', async () => {
    const { scope, id, atProcessor } = await refunded('refund_pending', 'pending');
    await on.arrives(scope, 'refund.failed', atProcessor);
    await on.handleEvents();
    expect(await statusOf(scope, id)).toBe('pending');

    await on.port(scope).testBank.succeedRefund(atProcessor);
    const first = await on.arrives(scope, 'refund.updated', atProcessor);
    await on.arrives(scope, 'refund.created', atProcessor);
    await on.arrives(scope, 'refund.updated', atProcessor, first);
    await on.handleEvents();
    await on.arrives(scope, 'refund.updated', atProcessor, first);
    await on.handleEvents();
    expect(await statusOf(scope, id)).toBe('succeeded');
    expect(await eventsOf(on, id)).toEqual(['refund.created', 'refund.updated']);
    expect(await stateOf(first)).toEqual({ status: 'handled', checks: 1 });
    expect(await books(on, scope)).toEqual({ refunds: 600, refunds_payable: 0, processor_balance: -600 });
  });

  it('gives back what a bank returns months after the last check of it [D14.121] [D14.6]', async () => {
    const { scope, session, id, atProcessor } = await refunded('hsa', 'succeeded');
    await on.admin(`update refunds.refund_attempts set status = 'ended' where refund_id = $1`, [id]);
    await on.port(scope).testBank.failRefund(atProcessor);
    await on.arrives(scope, 'refund.failed', atProcessor);
    await on.handleEvents();
    await on.sweep();
    expect(await untilStatus(on, scope, id, 'failed')).toMatchObject({
      failureBalanceTransactionId: expect.stringMatching(/^fbtxn_/),
    });
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(0n);
    expect(await books(on, scope)).toEqual({ refunds: 0, refunds_payable: 0, processor_balance: 0 });
  });

  it('records a refund that needs action, that is canceled, and a reference that arrives later [D14.121]', async () => {
    const { scope, id, atProcessor } = await refunded('refund_pending', 'pending');
    const port = on.port(scope);
    const stands = await port.retrieveRefund(atProcessor);
    if (stands.kind !== 'pending') throw new Error('the refund is not pending');
    const look = (change: object) => {
      const retrieveRefund = async () => ({ ...stands, ...change }) as RefundOutcome;
      const processors = { findAt: () => ({ ...port, retrieveRefund }) };
      const refunds = {
        database: on.service.database,
        budgets: defaultBudgets,
        logger: { warn: () => undefined },
        processors,
      };
      return lookAtRefund(refunds as unknown as Context, scope, 'sandbox', atProcessor);
    };
    await look({ kind: 'requires_action' });
    expect(await statusOf(scope, id)).toBe('requires_action');
    await look({ kind: 'pending' });
    await look({ reference: { id: '7'.repeat(23), type: 'acquirer_reference_number', status: 'available' } });
    expect(await on.refunds.getRefund({ id }, on.as(scope))).toMatchObject({
      ...{ status: 'pending', referenceId: '7'.repeat(23), referenceType: 'acquirer_reference_number' },
      ...{ referenceStatus: 'available', items: [{ referenceId: '7'.repeat(23) }] },
    });
    await look({ amountCents: 1, kind: 'succeeded' });
    expect(await statusOf(scope, id)).toBe('pending');
    await look({ kind: 'canceled' });
    await on.sweep();
    await untilStatus(on, scope, id, 'canceled');
    // An older state that is fetched after a newer one moves nothing.
    await look({ kind: 'succeeded' });
    expect(await statusOf(scope, id)).toBe('canceled');
    expect(await eventsOf(on, id)).toEqual(['refund.created', ...Array(4).fill('refund.updated')]);
  });
});

describe('an event that cannot be handled yet', () => {
  it('waits for the answer of the call that made its object [D14.120]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    await on.fault({ call: 'refunds.create', kind: 'drop_after' });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    const unknown = `select 1 from refunds.refund_attempts where refund_id = $1 and status = 'unknown'`;
    await expect.poll(async () => (await on.admin(unknown, [id])).length).toBe(1);
    const [made] = await on.atProcessor(session);
    await on.port(scope).testBank.failRefund(made?.id ?? '');
    const event = await on.arrives(scope, 'refund.failed', made?.id ?? '');
    await on.handleEvents();
    expect(await stateOf(event)).toMatchObject({ status: 'waiting' });
    // The key replays that the refund had gone through.
    await on.sweep();
    await on.handleEvents();
    await on.sweep();
    await untilStatus(on, scope, id, 'failed');
    expect(await stateOf(event)).toMatchObject({ status: 'handled' });
    expect(on.checkout.refundedOf(session.cards[0]?.paymentIntentId ?? '')).toBe(0n);
  });

  it('is dropped after an hour when Eligo did not make its object [D14.120]', async () => {
    const scope = someScope();
    const event = await on.arrives(scope, 'refund.created', 're_of_somebody_else');
    await on.handleEvents();
    expect(await stateOf(event)).toEqual({ status: 'waiting', checks: 1 });
    await on.admin(`update refunds.processor_events set received_at = now() - interval '61 minutes' where id = $1`, [
      event,
    ]);
    await on.handleEvents();
    expect(await stateOf(event)).toEqual({ status: 'dropped', checks: 2 });
  });

  it.each(['error_before', 'drop_before', 'rate_limited'])(
    'is handled later when the processor answers with %s [D14.120]',
    async (kind) => {
      const { scope, id, atProcessor } = await refunded('refund_pending', 'pending');
      await on.port(scope).testBank.succeedRefund(atProcessor);
      await on.fault({ call: 'refunds.retrieve', kind, delay_ms: 1_000 });
      const event = await on.arrives(scope, 'refund.updated', atProcessor);
      await on.handleEvents();
      expect(await stateOf(event)).toEqual({ status: 'waiting', checks: 1 });
      await on.handleEvents();
      expect(await stateOf(event)).toEqual({ status: 'handled', checks: 2 });
      expect(await statusOf(scope, id)).toBe('succeeded');
    },
  );

  it.each(eventFailpoints)('is handled by the next process when one stops at %s [D14.120]', async (name) => {
    const { scope, id, atProcessor } = await refunded('refund_pending', 'pending');
    await on.port(scope).testBank.succeedRefund(atProcessor);
    const event = await on.arrives(scope, 'refund.updated', atProcessor);
    armFailpoint(name, { action: 'error' });
    await on.handleEvents();
    expect(await stateOf(event)).toMatchObject({ status: 'waiting' });
    turnFailpointsOff();
    await on.restart();
    await on.handleEvents();
    expect(await stateOf(event)).toMatchObject({ status: 'handled' });
    expect(await statusOf(scope, id)).toBe('succeeded');
    expect(await eventsOf(on, id)).toEqual(['refund.created', 'refund.updated']);
  });
});

describe('the store of events', () => {
  it('lets accounts take turns: one with many events does not keep another waiting', async () => {
    const [busy, quiet] = [someScope(), someScope()];
    await on.admin(
      `insert into refunds.processor_events (account_id, test_mode, processor, id, type, object_id, created_at, next_check_at)
       select $1, true, 'sandbox', 'evt_' || n, 'refund.updated', 're_' || n, now(), now() - interval '1 hour' from generate_series(1, 500) n`,
      [busy.accountId],
    );
    await on.arrives(quiet, 'refund.updated', 're_quiet');
    const { objects } = await dueEventObjects(on.service.database, firstPlace, { accounts: 20, each: 10 });
    const accounts = Map.groupBy(objects, ({ scope }) => scope.accountId);
    expect(accounts.get(busy.accountId)).toHaveLength(10);
    expect(accounts.get(quiet.accountId)).toMatchObject([{ objectId: 're_quiet' }]);
    const one = await dueEventObjects(on.service.database, firstPlace, { accounts: 1, each: 10 });
    const next = await dueEventObjects(on.service.database, one.last ?? firstPlace, { accounts: 1, each: 10 });
    expect(next.objects[0]?.scope.accountId).not.toBe(one.objects[0]?.scope.accountId);
    await on.admin('delete from refunds.processor_events where account_id = $1', [busy.accountId]);
  });

  it('does not move an event that is settled, and deletes it once the processor no longer lists it [STATE-1]', async () => {
    const scope = someScope();
    const event = await on.arrives(scope, 'refund.updated', `re_${newId('refund')}`);
    const set = (text: string) => on.admin(`update refunds.processor_events set ${text} where id = $1`, [event]);
    await expect(set(`status = 'handled'`)).rejects.toThrow(/only_waiting_is_checked/);
    await expect(set(`status = 'elsewhere', next_check_at = null`)).rejects.toThrow(/processor_events_status_check/);
    await expect(set(`next_check_at = null, status = 'handled'`)).rejects.toThrow(/settled_has_a_time/);
    await set(`status = 'handled', next_check_at = null, settled_at = now() - interval '44 days'`);
    await expect(set(`status = 'waiting', next_check_at = now(), settled_at = null`)).rejects.toThrow(/does not move/);
    const prune = () => withTx(on.service.database, null, (tx) => pruneProcessorEvents(tx, 10));
    expect(await prune()).toBe(0);
    await set(`settled_at = now() - interval '46 days'`);
    expect(await prune()).toBe(1);
  });
});
