import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { CartDiscountSchema } from '@eligo/proto/catalog/v1/catalog';
import type { CreateSessionRequestSchema } from '@eligo/proto/checkout/v1/checkout';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSession } from '../src/actions/create-session.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, sessionMessage, shortBudgets } from './fixture.ts';
import { pay } from './pay.ts';

describe('another body under the key of a session that is being paid', () => {
  let fixture: ChargingFixture;
  beforeAll(async () => {
    fixture = await openChargingFixture(shortBudgets);
  });
  beforeEach(() => fixture.clearFaults());
  afterAll(() => fixture.close());

  const under = (key: string, body: number) => ({ key, requestHash: new Uint8Array(32).fill(body) });
  // The processor charges the card, and says so neither now nor when it is asked.
  const loseTheAnswer = async () => {
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_before' });
  };
  const settle = async () => {
    await fixture.clearFaults();
    for (let round = 0; round < 4; round++) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
  };
  const sessions = async () => {
    const rows = await fixture.test.admin<{ id: string }>('select id from checkout.sessions order by id');
    return rows.map(({ id }) => id);
  };
  const reload = ({ id }: Session) => loadSession(fixture.database, fixture.scope, id);
  const busy = { code: 'lock_timeout', status: 503 };

  it('is 503 while the first is charged at once, and a sale of its own once that is complete [D1.1, D14.16]', async () => {
    const first = await fixture.card('credit', { offSession: true });
    const second = await fixture.card('credit', { offSession: true, customerId: first.customerId });
    const sell = (cents: number, card: { id: string; customerId: string }) =>
      fixture.session({
        mode: 'off_session',
        lines: [line({ unitAmount: cents })],
        customerId: card.customerId,
        paymentMethodId: card.id,
        idempotency: under('at_once', cents % 251),
      });
    const before = await sessions();
    await loseTheAnswer();
    const charged = await sell(1_000, first);
    expect(charged.status).toBe('open');
    await expect(sell(900, second)).rejects.toMatchObject(busy);
    expect(await sessions()).toEqual([...before, charged.id]);
    await settle();
    expect(await reload(charged)).toMatchObject({ status: 'complete', amountReceivedCents: 1_000 });
    expect(await sell(900, second)).toMatchObject({ status: 'complete', amountReceivedCents: 900 });
  });

  it('is 503 while the first is paid on its page, and a session of its own once that is complete [D1.1, D14.16]', async () => {
    const card = await fixture.card('credit');
    const cart = (cents: number) =>
      fixture.session({ lines: [line({ unitAmount: cents })], idempotency: under('page', cents % 251) });
    const before = await sessions();
    const paid = await cart(2_000);
    await loseTheAnswer();
    await pay(fixture, paid, [card]).catch(() => undefined);
    expect((await reload(paid))?.status).toBe('open');
    await expect(cart(1_900)).rejects.toMatchObject(busy);
    expect(await sessions()).toEqual([...before, paid.id]);
    await settle();
    expect(await reload(paid)).toMatchObject({ status: 'complete', amountReceivedCents: 2_000 });
    expect((await cart(1_900)).status).toBe('open');
  });

  it('is 503 where the payment begins while the new cart is made, and gives back at once what that redeemed [D1.1]', async () => {
    const card = await fixture.card('credit');
    const first = await fixture.session({ lines: [line({ unitAmount: 3_000 })], idempotency: under('race', 1) });
    const before = await sessions();
    const context: Context = {
      ...fixture.context,
      catalog: {
        ...fixture.context.catalog,
        async reserveRedemption(...call) {
          const answer = await fixture.context.catalog.reserveRedemption(...call);
          await loseTheAnswer();
          await pay(fixture, first, [card]).catch(() => undefined);
          return answer;
        },
      },
    };
    const percent = JSON.stringify({ couponId: 'fcoup_race', duration: 'once', percentOffBasisPoints: 1000 });
    const parts: MessageInitShape<typeof CreateSessionRequestSchema> = {
      discounts: [create(CartDiscountSchema, { source: { case: 'couponId', value: percent } })],
      idempotency: under('race', 2),
    };
    const changed = createSession(context, fixture.call, sessionRequestOf(sessionMessage(parts)));
    await expect(changed).rejects.toMatchObject(busy);
    expect(await sessions()).toEqual(before);
    const refused = fixture.catalog.calls.findLast(({ name }) => name === 'reserveRedemption')?.sessionId;
    expect(fixture.catalog.calls.at(-1)).toEqual({ name: 'releaseRedemption', sessionId: refused });
    await settle();
    expect((await reload(first))?.status).toBe('complete');
  });
});
