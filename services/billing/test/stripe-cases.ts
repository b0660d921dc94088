import type { Scope } from '@eligo/postgres';
import { describe, expect, it } from 'vitest';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { callOf, type Fixture, type SoldItem, sell, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

/** Half of the period of thirty days that is sold at `start`. */
const half = '2026-04-16T00:00:00.000Z';
const day = (text: string) => `${text}T00:00:00.000Z`;

const prorations = 'docs.stripe.com/billing/subscriptions/prorations';
const canceling = 'docs.stripe.com/billing/subscriptions/cancel';
const quantities = 'docs.stripe.com/billing/subscriptions/quantities';
const trials = 'docs.stripe.com/billing/subscriptions/trials';
const cycle = 'docs.stripe.com/billing/subscriptions/billing-cycle';
const resuming = 'docs.stripe.com/api/subscriptions/resume';

/** What Stripe's documentation says that subscriptions are invoiced, on the fixture and the account of a test file. The pages give the amounts and the dates. */
export function stripeCases(machineOf: () => Fixture, scopeOf: () => Scope): void {
  const { runAt, read, eventsOf, invoicesOf, update } = callsOn(machineOf, scopeOf);

  /** A subscription that was sold at `start`, or at another time. */
  async function sold(item: SoldItem, parts: Parameters<typeof sell>[2] = {}) {
    const one = { unitAmountCents: 1_000, quantity: 1, ...item };
    const receivedCents = one.unitAmountCents * one.quantity;
    const { subscriptionId, card } = await sell(machineOf(), scopeOf(), { items: [one], receivedCents, ...parts });
    return { id: subscriptionId, card };
  }
  const tenAMonth = (parts: Parameters<typeof sell>[2] = {}) => sold({}, parts);
  const price = (unitAmountCents: number, interval = 'month') =>
    machineOf().peers.price({ unitAmountCents, recurring: { interval } });
  const at = (time: string) => machineOf().at(time);
  /** The invoices after the one of the sale: what each comes to, on which day. */
  const laterInvoices = async (id: string) =>
    (await invoicesOf(id))
      .slice(1)
      .map(
        ({ period_start, total_cents }) => `${period_start.toISOString().slice(0, 10)} ${Number(total_cents) / 100}`,
      );

  describe(`what ${prorations} gives`, () => {
    it.each([
      [
        'always_invoice',
        '10.00 to 20.00 in the middle of a month: 5.00 at once',
        1_000,
        2_000,
        ['2026-04-16 5', '2026-05-01 20'],
      ],
      ['create_prorations', '10.00 to 20.00: 5.00 more with the next invoice', 1_000, 2_000, ['2026-05-01 25']],
      ['none', '10.00 to 20.00: nothing of this month', 1_000, 2_000, ['2026-05-01 20']],
      [
        'always_invoice',
        '20.00 to 10.00: a credit that is not paid out, and reduces the next invoice',
        2_000,
        1_000,
        ['2026-05-01 5'],
      ],
      ['create_prorations', '20.00 to 10.00: the same', 2_000, 1_000, ['2026-05-01 5']],
      ['none', '20.00 to 10.00: no credit', 2_000, 1_000, ['2026-05-01 10']],
    ])('with %s: %s [D14.185, D14.186]', async (prorationBehavior, _what, from, to, expected) => {
      const { id } = await sold({ unitAmountCents: from });
      at(half);
      await update(id, { items: [{ priceId: price(to), quantity: 1 }], prorationBehavior });
      await runAt(may);
      expect(await laterInvoices(id)).toEqual(expected);
      expect(await eventsOf(id)).not.toContain('command.refund');
    });

    it('discounts are a part of the amounts: 10% off both leaves 4.50 of 5.00 [D14.185]', async () => {
      const { id } = await tenAMonth();
      await update(id, {
        discount: {
          couponId: machineOf().peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' }),
          promoCode: null,
        },
      });
      await runAt(may);
      at('2026-05-16T12:00:00.000Z');
      await update(id, { items: [{ priceId: price(2_000), quantity: 1 }], prorationBehavior: 'always_invoice' });
      expect(await laterInvoices(id)).toEqual(['2026-05-01 9', '2026-05-16 4.5']);
    });

    it('another interval is prorated, and begins its period with an invoice at once: 100.00 a year less 5.00 [D14.187]', async () => {
      const { id } = await tenAMonth();
      at(half);
      await update(id, { items: [{ priceId: price(10_000, 'year'), quantity: 1 }] });
      expect(await laterInvoices(id)).toEqual(['2026-04-16 95']);
      expect((await read(id)).subscription).toMatchObject({
        ...{ anchor: new Date(half), currentPeriodEnd: new Date(day('2027-04-16')) },
      });
    });
  });

  describe(`what ${canceling} gives`, () => {
    it.each(['cancelAtPeriodEnd', 'cancelAt'] as const)(
      'pending prorations stay with `%s`, and are collected at the end: 500.00 less 5.00 for half a month of 1,000.00 [D14.186, D14.335]',
      async (ends) => {
        const { id } = await tenAMonth();
        at(half);
        await update(id, { items: [{ priceId: price(100_000), quantity: 1 }] });
        await update(id, ends === 'cancelAt' ? { cancelAt: new Date(may) } : { cancelAtPeriodEnd: true });
        await runAt(may);
        expect(await laterInvoices(id)).toEqual(['2026-04-16 495']);
        expect(await read(id)).toMatchObject({
          ...{ subscription: { status: 'canceled', canceledAt: new Date(may) } },
          invoice: { status: 'paid', amountPaidCents: 49_500 },
        });
      },
    );
  });

  describe(`what ${quantities} gives`, () => {
    it('five at 9.99 are one invoice of 49.95, and a change of the quantity alone is prorated [D14.185]', async () => {
      const { id } = await sold({ unitAmountCents: 999, quantity: 5 });
      await runAt(may);
      expect(await laterInvoices(id)).toEqual(['2026-05-01 49.95']);
      const [item] = (await read(id)).subscription.items;
      at('2026-05-16T12:00:00.000Z');
      await update(id, {
        items: [{ priceId: item?.priceId ?? '', quantity: 10 }],
        prorationBehavior: 'always_invoice',
      });
      // Half of 49.95 is credited and half of 99.90 charged. Eligo rounds each down, so that nobody is charged more than the time is worth.
      expect((await laterInvoices(id)).at(-1)).toBe('2026-05-16 24.98');
    });
  });

  describe(`what ${trials} and ${cycle} give`, () => {
    it('a trial of seven days from the 15th has an invoice of 0, and its first period and its dates begin on the 22nd [D14.19, D14.90]', async () => {
      const { id } = await tenAMonth({ at: new Date(day('2026-04-15')), trialDays: 7 });
      expect((await invoicesOf(id)).map(({ total_cents, status }) => [Number(total_cents), status])).toEqual([
        [0, 'paid'],
      ]);
      await runAt(day('2026-05-22'));
      expect(await laterInvoices(id)).toEqual(['2026-04-22 10', '2026-05-22 10']);
    });

    it('a trial that would be billed on 23 May and is moved to 1 June is billed then, and on the first of each month [D14.116]', async () => {
      const { id } = await tenAMonth({ at: new Date(day('2026-05-09')), trialDays: 14 });
      at(day('2026-05-15'));
      await update(id, { trialEnd: new Date(day('2026-06-01')) });
      for (const date of ['2026-05-23', '2026-06-01', '2026-07-01']) await runAt(day(date));
      expect(await laterInvoices(id)).toEqual(['2026-06-01 10', '2026-07-01 10']);
      // The notice is three days ahead of the end that holds.
      expect((await eventsOf(id)).filter((type) => type.endsWith('trial_will_end'))).toHaveLength(1);
    });

    it('a trial that is ended now is invoiced now, and its dates count from now [D14.116]', async () => {
      const { id } = await tenAMonth({ trialDays: 30 });
      at(half);
      await update(id, { trialEnd: 'now' });
      await runAt(day('2026-05-16'));
      expect(await laterInvoices(id)).toEqual(['2026-04-16 10', '2026-05-16 10']);
    });
  });

  describe(`what ${resuming} gives`, () => {
    async function pausedUntil(time: string) {
      const made = await tenAMonth();
      at(day('2026-04-10'));
      await pause(machineOf().context, callOf(scopeOf()), made.id);
      await runAt(time);
      expect(await laterInvoices(made.id)).toEqual([]);
      return {
        ...made,
        resume: (keepsAnchor: boolean) => resume(machineOf().context, callOf(scopeOf()), made.id, keepsAnchor),
      };
    }

    it('`now` resets the anchor to now and invoices a whole period without prorations [D14.117]', async () => {
      const { id, resume: resumes } = await pausedUntil(day('2026-06-16'));
      expect(await resumes(false)).toMatchObject({ status: 'active', anchor: new Date(day('2026-06-16')) });
      await runAt(day('2026-07-16'));
      expect(await laterInvoices(id)).toEqual(['2026-06-16 10', '2026-07-16 10']);
    });

    it('`unchanged` goes on in the period around now, of which the remaining half costs 5.00 [D14.117]', async () => {
      const { id, resume: resumes } = await pausedUntil(day('2026-06-16'));
      expect(await resumes(true)).toMatchObject({ status: 'active', anchor: start });
      await runAt(day('2026-07-01'));
      expect(await laterInvoices(id)).toEqual(['2026-06-16 5', '2026-07-01 10']);
    });

    it('a payment that fails makes it past due [D14.117]', async () => {
      const { card, resume: resumes } = await pausedUntil(day('2026-06-16'));
      machineOf().peers.behave(card, 'insufficient_funds');
      expect(await resumes(false)).toMatchObject({ status: 'past_due' });
    });
  });
}
