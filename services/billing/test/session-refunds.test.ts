import type { Scope } from '@eligo/postgres';
import { cents } from '@eligo/values';
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

const half = '2026-04-16T00:00:00.000Z';

describe('a prorated refund of a session', () => {
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
    ['was refunded', 3_000, 0, 1_000],
    ['is to be refunded', 0, 3_000, 1_000],
    ['was refunded, and a part of the plan', 3_000 + 400, 0, 800],
    ['is to be refunded, and a part of the plan was', 400, 3_000, 800],
  ])(
    'gives back all of the unused time of a plan whose letter fee %s [D14.330, D14.383, D14.385]',
    async (_what, refunded, toRefund, expected) => {
      const { subscriptionId: id, sessionId } = await sell(on, scope, {
        ...{ items: [{ unitAmountCents: 2_000, quantity: 1, feeCents: 3_000 }], receivedCents: 5_000 },
      });
      on.peers.payments.letterFees.set(sessionId, [{ cents: 3_000, toRefund }]);
      on.peers.payments.refundedLines.set(sessionId, [refunded]);
      on.peers.refunded.set(sessionId, refunded);
      expect(await cancel(id, half)).toEqual([expected]);
    },
  );

  it('gives all of the unused time of a plan back after any refund of a device beside its letter fee [D14.383, D14.385]', async () => {
    const { subscriptionId: id, sessionId } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 2_000, quantity: 1, feeCents: 3_000 }], receivedCents: 5_000, onceCents: 10_000 },
    });
    on.peers.payments.letterFees.set(sessionId, [{ cents: 3_000, toRefund: 0 }]);
    on.peers.payments.refundedLines.set(sessionId, [3_000, 7_000]);
    on.peers.refunded.set(sessionId, 10_000);
    expect(await cancel(id, half)).toEqual([1_000]);
  });

  it.each([
    ['all of it', [10_000, 0], [0, 0], [5_000]],
    ['what a dispute has left of it', [10_000, 0], [2_000, 0], [4_000]],
    ['nothing, where the shop captured the device alone', [0, 10_000], [0, 0], []],
  ] as const)(
    'that was captured in part gives back the unused time of what was captured of the plan: %s [D14.330, D14.332, D14.386]',
    async (_what, captured, disputed, expected) => {
      const { subscriptionId: id, sessionId } = await sell(on, scope, {
        ...{ items: [{ unitAmountCents: 10_000, quantity: 1 }], receivedCents: 0, onceCents: 10_000 },
      });
      on.peers.payments.sold(sessionId, 10_000, [10_000], 10_000);
      on.peers.payments.capturedLines.set(sessionId, captured);
      on.peers.payments.disputedLines.set(sessionId, disputed);
      on.peers.disputed.set(sessionId, disputed[0]);
      expect(await cancel(id, half)).toEqual(expected);
    },
  );

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

it.each([
  ['prorated', null, [5_000]],
  ['custom', 6_000, [6_000]],
] as const)(
  'a %s refund takes nothing of a plan for a device on the other card that was refunded and disputed [D14.3, D14.384, D14.386]',
  async (refund, refundAmountCents, expected) => {
    const { subscriptionId: id, sessionId } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 10_000, quantity: 1 }], receivedCents: 10_000, onceCents: 30_000 },
    });
    const [ofPlan, ofDevice] = [`fpi_plan_${sessionId}`, `fpi_device_${sessionId}`];
    on.peers.payments.cards.set(sessionId, { [ofPlan]: 10_000, [ofDevice]: 30_000 });
    on.peers.payments.refundedLines.set(sessionId, [0, 30_000]);
    on.peers.payments.disputedLines.set(sessionId, [0, 0]);
    for (const charge of [sessionId, ofDevice]) {
      on.peers.refunded.set(charge, 30_000);
      on.peers.disputed.set(charge, 30_000);
    }
    on.at(half);
    await cancelSubscription(on.context, scope, id, {
      atPeriodEnd: false,
      refund,
      refundAmountCents: refundAmountCents && cents(refundAmountCents),
    });
    expect((await refundsOf(id)).map(({ amountCents }) => amountCents)).toEqual(expected);
  },
);
