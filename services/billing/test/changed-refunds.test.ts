import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

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

const { runAt, read, refundsOf, update, voids } = callsOn(
  () => on,
  () => scope,
);
const half = '2026-05-16T12:00:00.000Z';
const classes = { eligible: 'auto_substantiation', other: 'not_eligible' } as const;
type Part = keyof typeof classes;

/** A renewal for May of 20.00 on a health card, for one item or two, and 30.00 on another card. */
async function renewed(eligibleCents: readonly number[] = [2_000]) {
  const { subscriptionId: id, priceIds } = await sell(on, scope, {
    ...{ backup: on.peers.card(false), receivedCents: 5_000 },
    items: [
      ...eligibleCents.map((unitAmountCents) => ({ unitAmountCents, quantity: 1 })),
      { unitAmountCents: 3_000, quantity: 1, eligibility: 'not_eligible' },
    ],
  });
  await runAt(may);
  const { subscription, invoice } = await read(id);
  const charges = await loadInvoiceCharges(on.database, scope, invoice.id);
  expect(charges.map(({ leg, amountCents }) => [leg, amountCents])).toEqual([
    ['health', 2_000],
    ['other', 3_000],
  ]);
  const [health, other] = charges.map(({ paymentIntentId }) => paymentIntentId);
  const [eligible = '', rest = ''] = [priceIds[0], priceIds.at(-1)];
  const present: Record<Part, string> = { eligible, other: rest };
  /** Gives the item of a part another price, or none. */
  const change = (part: Part, unitAmountCents: number | null, prorationBehavior: string) => {
    const kept = { priceId: present[part === 'eligible' ? 'other' : 'eligible'], quantity: null };
    const priceId = unitAmountCents === null ? null : on.peers.price({ unitAmountCents, eligibility: classes[part] });
    if (priceId !== null) present[part] = priceId;
    return update(id, {
      items: priceId === null ? [kept] : [kept, { priceId, quantity: 1 }],
      prorationBehavior,
    });
  };
  /** What comes back of the health card, and of the other one for the period and for the change that it paid alone. */
  const cancel = async (time: string) => {
    on.at(time);
    await cancelSubscription(on.context, scope, id, {
      atPeriodEnd: false,
      refund: 'prorated',
      refundAmountCents: null,
    });
    const refunds = await refundsOf(id);
    const of = (intent: string | null | undefined) =>
      refunds.find(({ subject }) => subject.value === intent)?.amountCents ?? 0;
    const ofChange = refunds.filter(({ subject: { value } }) => value !== health && value !== other);
    return [of(health), of(other), ...ofChange.map(({ amountCents }) => amountCents)];
  };
  const both = async (eligibleCents: number, otherCents: number, prorationBehavior: string) => {
    const priced = { eligible: eligibleCents, other: otherCents };
    const priceIds = (['eligible', 'other'] as const).map((part) => {
      present[part] = on.peers.price({ unitAmountCents: priced[part], eligibility: classes[part] });
      return present[part];
    });
    await update(id, { items: priceIds.map((priceId) => ({ priceId, quantity: 1 })), prorationBehavior });
  };
  return { id, subscription, priceIds, health: health ?? '', change, both, cancel };
}

describe('a prorated refund after a change that waits for the next invoice', () => {
  it.each<[string, Part, number | null, string, [number, number]]>([
    ['a lower price of the health card’s part', 'eligible', 1_000, half, [500, 1_500]],
    ['a lower price of the other card’s part', 'other', 1_000, half, [1_000, 500]],
    ['a lower price, a week later', 'eligible', 1_000, '2026-05-24T06:00:00.000Z', [250, 750]],
    ['a higher price', 'eligible', 4_000, half, [1_000, 1_500]],
    ['no item of the health card’s part', 'eligible', null, half, [0, 1_500]],
    ['no item of the other card’s part', 'other', null, half, [1_000, 0]],
  ])('gives each card the unused time of its own part: %s [D14.3]', async (_what, part, to, at, expected) => {
    const { change, cancel } = await renewed();
    on.at(half);
    await change(part, to, 'create_prorations');
    expect(await cancel(at)).toEqual(expected);
  });

  it('counts a second change of the same item [D14.3]', async () => {
    const { change, cancel } = await renewed();
    on.at(half);
    await change('eligible', 1_000, 'create_prorations');
    await change('eligible', 500, 'create_prorations');
    expect(await cancel(half)).toEqual([250, 1_500]);
  });

  it('takes the credit of one part for the charge of the other only beyond its own charge [D14.3]', async () => {
    const { change, cancel } = await renewed();
    on.at(half);
    await change('eligible', 1_000, 'create_prorations');
    await change('other', 4_000, 'create_prorations');
    // 10.00 of the health card's 20.00 pay what is dearer of the other part.
    expect(await cancel(half)).toEqual([1_000, 1_500]);
  });
});

describe('a prorated refund after a change that a card paid at once', () => {
  it('lowers no payment of other lines alone by what is cheaper of the health card’s part [D14.3]', async () => {
    const { change, cancel } = await renewed();
    on.at(half);
    await change('other', 4_000, 'always_invoice');
    await change('eligible', 1_000, 'create_prorations');
    expect(await cancel(half)).toEqual([500, 1_500, 500]);
  });

  it('counts what is left of a credit that its invoice used in part [D14.3]', async () => {
    const { both, cancel } = await renewed();
    on.at(half);
    await both(1_000, 5_000, 'always_invoice');
    expect(await cancel(half)).toEqual([500, 1_500, 1_000]);
  });

  it('counts a credit once that an open invoice used in part [D14.3]', async () => {
    const { id, subscription, priceIds, cancel } = await renewed([1_000, 1_000]);
    on.peers.behave(subscription.backupPaymentMethodId ?? '', 'insufficient_funds');
    on.at(half);
    // 5.00 of one of the health card's items: 2.50 pay its lower price, and 2.50 wait.
    const cheaper = on.peers.price({ unitAmountCents: 500 });
    const added = on.peers.price({ unitAmountCents: 2_000, eligibility: classes.other });
    const kept = priceIds.slice(1).map((priceId) => ({ priceId, quantity: null }));
    const items = [...kept, ...[cheaper, added].map((priceId) => ({ priceId, quantity: 1 }))];
    await update(id, { items, prorationBehavior: 'always_invoice' });
    expect((await read(id)).invoice).toMatchObject({ status: 'open', totalCents: 1_000, eligibleCents: 0 });
    expect(await cancel(half)).toEqual([500, 1_500]);
  });

  it('lowers what is left of a payment of which the shop refunded a part [D14.3]', async () => {
    const { change, cancel, health } = await renewed();
    on.at(half);
    await change('eligible', 1_000, 'create_prorations');
    on.peers.refunded.set(health, 1_000);
    // Of 10.00 that are left of 20.00, half of the unused 5.00 lapses: 17.00 in the proportion of 2.50 and 15.00.
    expect(await cancel(half)).toEqual([243, 1_457]);
  });
});

describe('a prorated refund beside an unpaid invoice of a change', () => {
  it.each(['open', 'void'] as const)(
    'gives nothing back of the item whose price it changed: %s [D14.3, D14.330]',
    async (becomes) => {
      for (const [part, expected] of [
        ['eligible', [0, 1_500]],
        ['other', [1_000, 0]],
      ] as const) {
        const { id, change, cancel, subscription } = await renewed();
        for (const card of [subscription.defaultPaymentMethodId, subscription.backupPaymentMethodId]) {
          on.peers.behave(card ?? '', 'insufficient_funds');
        }
        on.at(half);
        await change(part, 9_000, 'always_invoice');
        const { invoice } = await read(id);
        expect(invoice.status).toBe('open');
        if (becomes === 'void') await voids(invoice.id);
        expect(await cancel(half)).toEqual(expected);
      }
    },
  );
});
