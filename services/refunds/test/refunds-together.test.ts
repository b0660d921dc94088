import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { books, eventsOf, type Fixture, openFixture, someScope, under, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

describe('refunds that are asked for at the same time', () => {
  it('share transactions, and each gives its own card its money back once [D1.1]', async () => {
    const scope = someScope();
    const sessions = await Promise.all(Array.from({ length: 16 }, () => on.paid(scope, { hsa: 2_000 })));
    const ask = (at: number) =>
      on.refunds.refundSession(
        {
          sessionId: sessions[at]?.id ?? '',
          instruction: { amountCents: BigInt(100 + at) },
          idempotency: under(`k${at}`),
        },
        on.as(scope),
      );
    const asked = await Promise.all(sessions.map((_session, at) => ask(at)));
    expect(asked.map(({ refund }) => refund?.amountCents)).toEqual(sessions.map((_session, at) => BigInt(100 + at)));
    expect(asked.map(({ refund }) => refund?.checkoutSessionId)).toEqual(sessions.map(({ id }) => id));
    const ids = asked.map(({ refund }) => refund?.refundId ?? '');
    for (const id of ids) await untilStatus(on, scope, id, 'succeeded');
    for (const [at, session] of sessions.entries()) {
      expect(await on.atProcessor(session)).toMatchObject([{ amount: 100 + at, status: 'succeeded' }]);
      expect(await eventsOf(on, ids[at] ?? '')).toEqual(['refund.created', 'refund.updated']);
    }
    const total = ids.reduce((sum, _id, at) => sum + 100 + at, 0);
    expect(await books(on, scope)).toEqual({ refunds: total, refunds_payable: 0, processor_balance: -total });
    const [written] = await on.admin<{ attempts: number; refunds: number; keys: number }>(
      `select count(distinct i.xmin::text)::int as attempts, count(distinct r.xmin::text)::int as refunds, count(distinct k.xmin::text)::int as keys
         from refunds.refunds r join refunds.ledger_entries i on i.refund_id = r.id and i.kind = 'refund_pending'
         join refunds.idempotency_keys k on k.attempt_id = r.id where r.id = any ($1)`,
      [ids],
    );
    for (const transactions of Object.values(written ?? { none: 16 })) expect(transactions).toBeLessThan(14);
    const again = await Promise.all(sessions.map((_session, at) => ask(at)));
    expect(again.map(({ refund }) => refund?.refundId)).toEqual(ids);
    expect(await Promise.all(sessions.map(async (session) => (await on.atProcessor(session)).length))).toEqual(
      ids.map(() => 1),
    );
  });

  it('each have their own outcome: a key that is used again and a refusal take no other with them', async () => {
    const scope = someScope();
    const sessions = await Promise.all(Array.from({ length: 4 }, () => on.paid(scope, { hsa: 1_000 })));
    const ask = (at: number, key: string, amountCents = 400n) =>
      on.refunds.refundSession(
        { sessionId: sessions[at]?.id ?? '', instruction: { amountCents }, idempotency: under(key) },
        on.as(scope),
      );
    const before = await ask(0, 'used');
    const outcomes = await Promise.all(
      [ask(1, 'a'), ask(0, 'used'), ask(2, 'b', 1_001n), ask(3, 'c'), ask(3, 'c')].map((answer) =>
        answer.then(
          ({ refund }) => refund?.refundId ?? '',
          (error: { code?: string }) => error.code ?? String(error),
        ),
      ),
    );
    expect(outcomes[0]).toMatch(/^fre_/);
    expect(outcomes[1]).toBe(before.refund?.refundId);
    expect(outcomes[2]).toBe('refund_amount_exceeds_remaining');
    // The second request under a key finds it in use, or finished.
    expect(outcomes.slice(3).filter((outcome) => outcome.startsWith('fre_')).length).toBeGreaterThanOrEqual(1);
    const { refunds } = await on.refunds.listRefunds({ checkoutSessionId: sessions[3]?.id ?? '' }, on.as(scope));
    expect(refunds.map(({ amountCents }) => amountCents)).toEqual([400n]);
  });
});
