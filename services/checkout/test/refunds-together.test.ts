import { AsyncLocalStorage } from 'node:async_hooks';
import { fromBinary } from '@bufbuild/protobuf';
import { provideEventContext } from '@eligo/events';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RefundReservation } from '../src/actions/planned-reservation.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

const request = new AsyncLocalStorage<string>();

let fixture: ChargingFixture;
beforeAll(async () => {
  provideEventContext(() => ({ requestId: request.getStore() ?? '' }));
  fixture = await openChargingFixture();
});
afterAll(async () => {
  provideEventContext(() => undefined);
  await fixture.close();
});

const charged = (count: number): Promise<Session[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const card = await fixture.card('hsa');
      const session = await fixture.mixedSession(card);
      await fixture.confirm(session, card);
      return session;
    }),
  );
const reserve = (session: Session, parts: Partial<RefundReservation> = {}) =>
  reserveRefund(fixture.context, fixture.scope, {
    ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, features: [], preview: false },
    instruction: { entries: [], methods: [], amount: cents(1_000) },
    ...parts,
  });
const outcomeOf = (reserved: ReturnType<typeof reserve>) =>
  reserved.then(
    ({ cards }) => cards.map(({ amountCents }) => amountCents),
    (error: { code?: string }) => error.code ?? String(error),
  );
const refundedOf = async ({ id }: Session) =>
  (await loadSession(fixture.database, fixture.scope, id))?.amountRefundedCents;

describe('refunds that come at the same time', () => {
  it('share transactions, and each takes its amount out of its own session once, with the events of its request', async () => {
    const sessions = await charged(16);
    const reserved = await Promise.all(
      sessions.map((session) => request.run(`refund of ${session.id}`, () => reserve(session))),
    );
    expect(reserved.map(({ session }) => session?.id)).toEqual(sessions.map(({ id }) => id));
    const ids = sessions.map(({ id }) => id);
    const rows = await fixture.test.admin<{ session_id: string; cents: string; transaction: string }>(
      `select r.session_id, e.amount_cents::text as cents, r.xmin::text as transaction
         from checkout.refund_reservations r join checkout.ledger_entries e on e.source_id = r.refund_id and e.kind = 'refund_reserved'
        where r.session_id = any ($1)`,
      [ids],
    );
    expect(rows.map(({ session_id }) => session_id).sort()).toEqual([...ids].sort());
    expect(rows.every(({ cents }) => cents === '1000')).toBe(true);
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBeLessThan(8);
    for (const session of sessions) {
      expect(await refundedOf(session)).toBe(1_000);
      expect(await fixture.told(session)).toMatchObject({ 'checkout.session.refunded': 1 });
    }
    const events = await fixture.test.admin<{ aggregate_id: string; payload: Buffer }>(
      `select aggregate_id, payload from checkout.outbox where type = 'checkout.session.refunded' and aggregate_id = any ($1)`,
      [ids],
    );
    const requests = events.map((event) => [event.aggregate_id, fromBinary(EventSchema, event.payload).requestId]);
    expect(requests).toEqual(events.map((event) => [event.aggregate_id, `refund of ${event.aggregate_id}`]));
  });

  it('each have their own outcome: one that is refused, repeated or closed takes no other with it', async () => {
    const [first, plain, tooMuch, repeated, closed, last] = await charged(6);
    if (!first || !plain || !tooMuch || !repeated || !closed || !last) throw new Error('six sessions');
    const [used, shut] = [newId('refund'), newId('refund')];
    await reserve(repeated, { refundId: used });
    await releaseRefund(fixture.context, fixture.scope, shut, []);
    const outcomes = await Promise.all([
      outcomeOf(reserve(first)),
      outcomeOf(reserve(plain)),
      outcomeOf(reserve(tooMuch, { instruction: { entries: [], methods: [], amount: cents(4_100) } })),
      outcomeOf(reserve(repeated, { refundId: used })),
      outcomeOf(reserve(closed, { refundId: shut })),
      outcomeOf(reserve(last, { sessionId: 'fcs_unknown' })),
      outcomeOf(reserve(last)),
    ]);
    expect(outcomes).toEqual([
      [1_000],
      [1_000],
      'refund_amount_exceeds_remaining',
      [1_000],
      'conflict',
      'checkout_session_not_found',
      [1_000],
    ]);
    const refunded = await Promise.all([first, plain, tooMuch, repeated, closed, last].map(refundedOf));
    expect(refunded).toEqual([1_000, 1_000, 0, 1_000, 0, 1_000]);
  });

  it('of one session never take more than it has', async () => {
    const [other, contended] = await charged(2);
    if (!other || !contended) throw new Error('two sessions');
    const outcomes = await Promise.all([
      outcomeOf(reserve(other)),
      ...Array.from({ length: 6 }, () => outcomeOf(reserve(contended))),
    ]);
    expect(outcomes.filter((outcome) => Array.isArray(outcome))).toHaveLength(5);
    expect(await refundedOf(contended)).toBe(4_000);
  });
});
