import { expect, it } from 'vitest';
import type { SubscriptionUpdate } from '../src/actions/update-subscription.ts';
import type { Fixture } from './fixture.ts';
import { type callsOn, may, refusedBy } from './subscription-calls.ts';

/** What the tests of changes of items share. */
interface ChangeTools extends Pick<ReturnType<typeof callsOn>, 'runAt' | 'read' | 'update' | 'voids'> {
  readonly on: Fixture;
  soldAnd(unitAmountCents: number): Promise<{ id: string; price: string; card: string }>;
  changeTo(id: string, priceId: string, behavior: string, more?: Partial<SubscriptionUpdate>): Promise<unknown>;
  pendingOf(id: string): Promise<number[]>;
}

/** Credits for charges that nobody has paid, and the void invoices that carry both. */
export function unpaidCreditTests(toolsOf: () => ChangeTools): void {
  it('that fails gives back no credit for charges that nobody paid, once its invoice is void [D14.186]', async () => {
    const { on, soldAnd, changeTo, pendingOf, read, update, voids } = toolsOf();
    const { id, price, card } = await soldAnd(6_000);
    await changeTo(id, price, 'create_prorations');
    expect(await pendingOf(id)).toEqual([-1_500, 3_000]);
    on.peers.behave(card, 'insufficient_funds');
    await update(id, { backupPaymentMethodId: null });
    const costlier = on.peers.price({ unitAmountCents: 10_000 });
    expect(await changeTo(id, costlier, 'always_invoice')).toMatchObject({ status: 'past_due' });
    const { invoice } = await read(id);
    expect([invoice.totalCents, await pendingOf(id)]).toEqual([3_500, []]);
    await voids(invoice.id);
    expect(await pendingOf(id)).toEqual([-1_500]);
    const change = (what: string) =>
      on.test.admin(`update billing.prorations set ${what} where subscription_id = $1 and unpaid_cents > 0`, [id]);
    await expect(change('left_cents = 1')).rejects.toEqual(refusedBy('proration_is_carried_once'));
    await expect(change('left_cents = 1, lapsed_cents = lapsed_cents - 1')).rejects.toEqual(
      refusedBy('proration_is_final'),
    );
    await expect(change("unpaid_invoice_id = 'in_other'")).rejects.toEqual(refusedBy('proration_is_final'));
    await expect(change('lapsed_cents = lapsed_cents + 1')).rejects.toEqual(refusedBy('lapsed_within_unpaid'));
  });

  it('that fails gives back no such credit where the clocks of two processes are apart [D14.186, D14.340]', async () => {
    const { on, soldAnd, changeTo, pendingOf, read, update, voids } = toolsOf();
    const { id, price, card } = await soldAnd(6_000);
    await changeTo(id, price, 'create_prorations');
    // The id that a process gives whose clock is ahead.
    await on.test.admin('alter table billing.prorations disable trigger guard_proration');
    await on.test.admin(
      `update billing.prorations set id = 'fprr_7' || right(id, 25) where subscription_id = $1 and kind = 'charge'`,
      [id],
    );
    await on.test.admin('alter table billing.prorations enable trigger guard_proration');
    await changeTo(id, on.peers.price({ unitAmountCents: 8_000 }), 'create_prorations');
    expect(await pendingOf(id)).toEqual([-1_500, 3_000, -3_000, 4_000]);
    on.peers.behave(card, 'insufficient_funds');
    await update(id, { backupPaymentMethodId: null });
    const costlier = on.peers.price({ unitAmountCents: 10_000 });
    expect(await changeTo(id, costlier, 'always_invoice')).toMatchObject({ status: 'past_due' });
    const { invoice } = await read(id);
    expect([invoice.totalCents, await pendingOf(id)]).toEqual([3_500, []]);
    await voids(invoice.id);
    expect(await pendingOf(id)).toEqual([-1_500]);
  });

  it('is noted of no credit that is older than what it charges: another process has invoiced what that is for [D14.186]', async () => {
    const { on, soldAnd, changeTo } = toolsOf();
    const { id, price } = await soldAnd(6_000);
    await changeTo(id, price, 'create_prorations');
    await changeTo(id, on.peers.price({ unitAmountCents: 10_000 }), 'create_prorations');
    // As the release before does, which notes nothing of the credit.
    const { admin } = on.test;
    await admin('alter table billing.prorations disable trigger user');
    await admin(`update billing.prorations set left_cents = 0 where subscription_id = $1 and kind = 'charge'`, [id]);
    await admin('alter table billing.prorations enable trigger user');
    await changeTo(id, on.peers.price({ unitAmountCents: 30_000 }), 'always_invoice');
    const noted = await admin(
      `select unpaid_invoice_id as noted from billing.prorations where subscription_id = $1 and unpaid_cents > 0 order by id limit 1`,
      [id],
    );
    expect(noted).toEqual([{ noted: null }]);
  });

  it('that fails gives back the paid part of a credit alone, once its invoice is void [D14.186]', async () => {
    const { on, soldAnd, changeTo, pendingOf, runAt, read, update, voids } = toolsOf();
    const { id, price, card } = await soldAnd(6_000);
    await changeTo(id, price, 'always_invoice');
    await changeTo(id, on.peers.price({ unitAmountCents: 3_000 }), 'create_prorations');
    await changeTo(id, on.peers.price({ unitAmountCents: 9_000 }), 'create_prorations');
    expect(await pendingOf(id)).toEqual([-3_000, 1_500, -1_500, 4_500]);
    on.peers.behave(card, 'insufficient_funds');
    await update(id, { backupPaymentMethodId: null });
    await runAt(may);
    const { invoice } = await read(id);
    expect([invoice.status, invoice.totalCents]).toEqual(['open', 9_000 + 1_500]);
    await voids(invoice.id);
    expect(await pendingOf(id)).toEqual([-3_000]);
  });
}
