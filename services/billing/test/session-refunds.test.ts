import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});

const { read, refundsOf, update } = callsOn(
  () => on,
  () => scope,
);

describe('a prorated refund of a session', () => {
  const half = '2026-04-16T00:00:00.000Z';
  const cancel = async (id: string, at: string) => {
    on.at(at);
    await cancelSubscription(on.context, scope, id, {
      atPeriodEnd: false,
      refund: 'prorated',
      refundAmountCents: null,
    });
    return (await refundsOf(id)).map(({ amountCents }) => amountCents);
  };

  it.each([
    ['nothing, where a dispute holds the plan', [10_000, 0], []],
    ['all of it, where a dispute holds the device on the other card', [0, 30_000], [5_000]],
    ['the rest, where a dispute holds a part', [4_000, 0], [3_000]],
  ] as const)(
    'gives back of the unused time of a plan that was sold with a device: %s [D14.332, D14.384]',
    async (_what, held, expected) => {
      const { subscriptionId: id, sessionId } = await sell(on, scope, {
        ...{ items: [{ unitAmountCents: 10_000, quantity: 1 }], receivedCents: 10_000, onceCents: 30_000 },
      });
      on.peers.disputed.set(sessionId, held[0] + held[1]);
      on.peers.payments.disputedLines.set(sessionId, held);
      expect(await cancel(id, half)).toEqual(expected);
    },
  );

  it.each([
    ['was refunded', [3_000]],
    ['is to be refunded', [0]],
  ])('gives back all of the unused time of a plan whose letter fee %s [D14.330, D14.383]', async (_what, refunded) => {
    const { subscriptionId: id, sessionId } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 2_000, quantity: 1, feeCents: 3_000 }], receivedCents: 5_000 },
    });
    on.peers.payments.refundedFees.set(sessionId, 3_000);
    on.peers.payments.refundedLines.set(sessionId, refunded);
    on.peers.refunded.set(sessionId, refunded[0] ?? 0);
    expect(await cancel(id, half)).toEqual([1_000]);
  });

  it('gives no time back twice where the shop refunded a plan beside its letter fee [D14.383]', async () => {
    const { subscriptionId: id, sessionId } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 2_000, quantity: 1, feeCents: 3_000 }], receivedCents: 5_000, onceCents: 10_000 },
    });
    on.peers.payments.refundedFees.set(sessionId, 3_000);
    // Of the fee 10.00 were noted at the plan and 20.00 at the device; the shop then refunded all of the plan's 20.00.
    on.peers.payments.refundedLines.set(sessionId, [3_000, 2_000]);
    on.peers.refunded.set(sessionId, 5_000);
    expect(await cancel(id, half)).toEqual([400]);
  });

  it('gives back the unused time of the line that is not refunded, whatever fees the lines have [D14.330, D14.332]', async () => {
    const { subscriptionId: id, sessionId } = await sell(on, scope, {
      items: [
        { unitAmountCents: 2_000, quantity: 1 },
        { unitAmountCents: 2_000, quantity: 1, feeCents: 3_000 },
      ],
      receivedCents: 7_000,
    });
    on.peers.payments.refundedLines.set(sessionId, [2_000, 0]);
    on.peers.refunded.set(sessionId, 2_000);
    expect(await cancel(id, half)).toEqual([1_000]);
  });

  it('shares an amount beyond the unused time by what is left of each payment, without what the session sold once [D14.3]', async () => {
    const { subscriptionId: id, priceIds } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 2_000, quantity: 1 }], receivedCents: 2_000, onceCents: 10_000 },
    });
    on.at(half);
    const items = [
      { priceId: priceIds[0] ?? '', quantity: null },
      { priceId: on.peers.price({ unitAmountCents: 2_000 }), quantity: 1 },
    ];
    await update(id, { items, prorationBehavior: 'always_invoice' });
    const { invoice } = await read(id);
    expect(invoice).toMatchObject({ amountPaidCents: 1_000 });
    on.peers.refunded.set(invoice.paymentIntentId ?? '', 500);
    // A quarter is left, of 40.00 of which 25 of 30 are kept: 8.33. The payments have 2.50 and 5.00 of it, and 2.50 and 15.00 beyond that.
    expect(await cancel(id, '2026-04-23T12:00:00.000Z')).toEqual([250 + 12, 500 + 71]);
  });

  it('leaves out the fees of a session [D14.330, D14.354]', async () => {
    const { subscriptionId: id, priceIds } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 1_000, quantity: 1, feeCents: 3_000 }], receivedCents: 4_000 },
      backup: on.peers.card(false),
    });
    on.at(half);
    const other = on.peers.price({ unitAmountCents: 2_000, eligibility: 'not_eligible' });
    const items = [
      { priceId: priceIds[0] ?? '', quantity: null },
      { priceId: other, quantity: 1 },
    ];
    await update(id, { items, prorationBehavior: 'always_invoice' });
    expect((await read(id)).invoice).toMatchObject({ amountPaidCents: 1_000 });
    expect(await cancel(id, half)).toEqual([1_000, 500]);
  });
});
