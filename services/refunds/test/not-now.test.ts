import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const turnAway = (call: string) => on.fault({ call, kind: 'rate_limited', delay_ms: 7_000 });

// Where the refund's attempt stands, how often it was looked at in vain, and in how many seconds it is due again.
async function attemptOf(refundId: string) {
  const [attempt] = await on.admin<{ status: string; checks: number; seconds: string }>(
    `select status, checks, extract(epoch from next_check_at - lease_until) as seconds from refunds.refund_attempts
      where refund_id = $1`,
    [refundId],
  );
  return attempt && { status: attempt.status, checks: attempt.checks, seconds: Math.round(Number(attempt.seconds)) };
}

const untilPutOff = (refundId: string) =>
  waitUntil(async () => ((await attemptOf(refundId))?.seconds === 7 ? attemptOf(refundId) : undefined), {
    what: `${refundId} to be put off`,
  });

describe('a refund that the processor turns away is asked for again after its Retry-After, and no check counts', () => {
  // First, while no other refund is looked at again: the fault hits one call.
  it('when the processor is asked how it stands', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { refund_pending: 2_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await waitUntil(async () => (await attemptOf(id))?.status === 'accepted', { what: 'the refund at the processor' });
    await turnAway('refunds.retrieve');
    await on.sweepOnce();
    expect(await untilPutOff(id)).toEqual({ status: 'accepted', checks: 0, seconds: 7 });
  });

  it('when it is asked for', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    await turnAway('refunds.create');
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    expect(await untilPutOff(id)).toEqual({ status: 'sending', checks: 0, seconds: 7 });
    await on.sweep();
    await untilStatus(on, scope, id, 'succeeded');
    expect(await on.atProcessor(session)).toMatchObject([{ amount: 2_000, status: 'succeeded' }]);
  });

  it('when it is looked up after its key was used up', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    await on.fault({ call: 'refunds.create', kind: 'error_after' });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    const id = refund?.refundId ?? '';
    await waitUntil(async () => (await attemptOf(id))?.status === 'unknown', { what: 'the lost answer' });
    await turnAway('refunds.list');
    await on.sweepOnce();
    expect(await untilPutOff(id)).toMatchObject({ checks: 1 });
    await on.sweep();
    await untilStatus(on, scope, id, 'succeeded');
    expect(await on.atProcessor(session)).toHaveLength(1);
  });
});
