import { scoped, withTx } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, someScope, under } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const lockKey = scoped<{ attempt_id: string }>(
  't.lock_key',
  'select attempt_id from idempotency_keys where account_id = $1 and test_mode = $2 for update',
);
const lockRefund = scoped(
  't.lock_refund',
  'select id from refunds.refunds where account_id = $1 and test_mode = $2 and id = $3 for update nowait',
);
const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%idempotency_keys%'
  and datname = current_database()`;

// A retry holds the key and then wants the refund: whoever waits for the key must not hold the refund, or both wait for each other.
describe('a retry that holds the key can take the refund', () => {
  it.each([
    ['is made pending', undefined, 500n],
    ['is refused', 'refund_amount_exceeds_remaining', 2_600n],
    ['could not be reserved now', 'lock_timeout', 500n],
    ['may have been reserved', 'idempotency_key_in_use', 500n],
  ])('while one %s', async (_name, code, amountCents) => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 2_000 });
    if (code === 'lock_timeout') on.checkout.trouble('busy');
    if (code === 'idempotency_key_in_use') on.checkout.trouble('lost_before');
    const reserving = Promise.withResolvers<void>();
    const keyIsHeld = Promise.withResolvers<void>();
    on.checkout.beforeAnswering = async () => {
      reserving.resolve();
      await keyIsHeld.promise;
    };
    const request = { sessionId: session.id, instruction: { amountCents }, idempotency: under('k') };
    const first = on.refunds.refundSession(request, on.as(scope)).catch((error: unknown) => error);
    await reserving.promise;
    await withTx(on.service.database, scope, async (tx) => {
      const key = await tx.row(lockKey, scope);
      keyIsHeld.resolve();
      await waitUntil(async () => (await on.admin(waiting)).length > 0, {
        what: 'the first request to wait for the key',
      });
      expect(await tx.execute(lockRefund, scope, [key?.attempt_id])).toBe(1);
    });
    on.checkout.beforeAnswering = undefined;
    const answer = await first;
    if (code === undefined) expect(answer).toMatchObject({ refund: { amountCents } });
    else expect(answer).toMatchObject({ code });
  });
});
