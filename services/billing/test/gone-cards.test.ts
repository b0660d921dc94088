import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
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

const { runAt, read, invoicesOf, update } = callsOn(
  () => on,
  () => scope,
);

const agree = () =>
  on.test.admin('insert into billing.backup_agreements (account_id, test_mode) values ($1, true)', [scope.accountId]);
const mixed = () => ({ backup: on.peers.card(false), items: [{}, { eligibility: 'not_eligible' }] });

// How checkout says that a card is charged no more.
const gone: [string, (card: string) => void][] = [
  ['detached', (card) => on.peers.detach(card)],
  ['at another processor account', (card) => on.peers.leaveBehind(card)],
  ['of another customer', (card) => on.peers.owns(card, newId('customer'))],
];

// Alone, or beside two others: what is renewed together is judged by other code.
const company: [string, number][] = [
  ['alone', 0],
  ['together', 2],
];

describe('a renewal', () => {
  it.each(gone.flatMap(([how, take]) => company.map(([beside, others]) => [how, beside, take, others] as const)))(
    'charges nothing of a mixed cart whose backup card is %s (%s) [D14.90]',
    async (_how, _beside, take, others) => {
      const sold = await sell(on, scope, mixed());
      for (let other = 0; other < others; other++) await sell(on, scope);
      take(sold.backup ?? '');
      await runAt(may);
      const { subscription, invoice } = await read(sold.subscriptionId);
      expect(subscription.status).toBe('past_due');
      expect(invoice).toMatchObject({ failureCode: 'backup_payment_method_required', amountPaidCents: 0, attempts: 1 });
      // It cannot come back: only the last day is left.
      expect(subscription.paymentAt).toEqual(new Date('2026-05-08'));
      await runAt('2026-05-08T00:00:00.000Z');
      expect((await read(sold.subscriptionId)).subscription.status).toBe('canceled');
      expect(on.peers.takenOf(invoice.id)).toBe(0);
    },
  );

  it.each(company)(
    'charges a default card that pays alone, though the backup card is detached (%s) [D14.90]',
    async (_beside, others) => {
      const sold = await sell(on, scope, { backup: on.peers.card(false) });
      for (let other = 0; other < others; other++) await sell(on, scope);
      on.peers.detach(sold.backup ?? '');
      await runAt(may);
      const { subscription, invoice } = await read(sold.subscriptionId);
      expect([subscription.status, invoice.status]).toEqual(['active', 'paid']);
      expect(on.peers.taken.at(-1)?.paymentMethodId).not.toBe(sold.backup);
    },
  );

  it.each([true, false])(
    'charges no other card in place of a default card that is detached (health card: %s) [D14.90]',
    async (isHealthCard) => {
      const card = on.peers.card(isHealthCard);
      const sold = await sell(on, scope, { ...mixed(), card });
      on.peers.detach(card);
      await runAt(may);
      const { subscription, invoice } = await read(sold.subscriptionId);
      expect([subscription.status, invoice.failureCode]).toEqual(['past_due', 'payment_method_not_found']);
      expect(on.peers.takenOf(invoice.id)).toBe(0);
      // Another card pays at once.
      const fresh = on.peers.cardOf(sold.customerId, isHealthCard);
      await update(sold.subscriptionId, { defaultPaymentMethodId: fresh });
      await runAt('2026-05-01T00:00:01.000Z');
      expect((await read(sold.subscriptionId)).invoice).toMatchObject({ status: 'paid', amountPaidCents: 6_000 });
    },
  );

  it('charges the other card alone for what no health card pays, though the health card is detached [D14.90]', async () => {
    const parts = { backup: on.peers.card(false), items: [{ eligibility: 'not_eligible' }] };
    const sold = await sell(on, scope, parts);
    on.peers.detach(sold.card);
    await runAt(may);
    expect((await read(sold.subscriptionId)).invoice).toMatchObject({ status: 'paid', amountPaidCents: 3_000 });
  });

  it('charges the other card for all where that is agreed and the health card is detached [D14.291]', async () => {
    await agree();
    const sold = await sell(on, scope, mixed());
    on.peers.detach(sold.card);
    await runAt(may);
    expect((await read(sold.subscriptionId)).invoice).toMatchObject({ status: 'paid', amountPaidCents: 6_000 });
    expect(on.peers.taken.at(-1)).toMatchObject({ paymentMethodId: sold.backup, amountCents: 6_000 });
  });
});

describe('a trial whose card is detached before it ends', () => {
  it.each(
    company.flatMap(([beside, others]) => [
      ['cancel', 'canceled', beside, others] as const,
      ['pause', 'paused', beside, others] as const,
    ]),
  )('ends as one without a card: %s, %s (%s) [D14.338]', async (missingPaymentMethod, status, _beside, others) => {
    const sold = await sell(on, scope, { trialDays: 14, missingPaymentMethod });
    for (let other = 0; other < others; other++) await sell(on, scope, { trialDays: 14, missingPaymentMethod });
    on.peers.detach(sold.card);
    await runAt('2026-04-15T00:00:00.000Z');
    expect((await findSubscription(on.database, scope, sold.subscriptionId))?.status).toBe(status);
    expect(await invoicesOf(sold.subscriptionId)).toHaveLength(1);
  });

  it.each(
    company.flatMap(([beside, others]) =>
      (['cancel', 'pause'] as const).flatMap((missing) => [
        [missing, 'agreed', 'active', beside, others] as const,
        [missing, 'not agreed', missing === 'cancel' ? 'canceled' : 'paused', beside, others] as const,
      ]),
    ),
  )(
    'with a backup card, %s, where it is %s that this pays for a health card: %s (%s) [D14.291, D14.338]',
    async (missingPaymentMethod, agreement, status, _beside, others) => {
      if (agreement === 'agreed') await agree();
      const parts = { trialDays: 14, missingPaymentMethod, backup: on.peers.card(false) };
      const sold = await sell(on, scope, parts);
      for (let other = 0; other < others; other++) await sell(on, scope, { ...parts, backup: on.peers.card(false) });
      on.peers.detach(sold.card);
      await runAt('2026-04-15T00:00:00.000Z');
      expect((await findSubscription(on.database, scope, sold.subscriptionId))?.status).toBe(status);
      const charged = on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === sold.backup);
      expect(charged.map(({ amountCents }) => amountCents)).toEqual(status === 'active' ? [3_000] : []);
    },
  );

  it('owes its first period where nothing was agreed [D14.338]', async () => {
    const sold = await sell(on, scope, { trialDays: 14 });
    on.peers.detach(sold.card);
    await runAt('2026-04-15T00:00:00.000Z');
    const { subscription, invoice } = await read(sold.subscriptionId);
    expect([subscription.status, invoice.status, on.peers.takenOf(invoice.id)]).toEqual(['past_due', 'open', 0]);
  });

  it('charges a default card that is there, and does not end though the backup card is detached [D14.338]', async () => {
    const parts = { trialDays: 14, missingPaymentMethod: 'cancel', backup: on.peers.card(false) };
    const sold = await sell(on, scope, parts);
    on.peers.detach(sold.backup ?? '');
    await runAt('2026-04-15T00:00:00.000Z');
    const { subscription } = await read(sold.subscriptionId);
    const invoice = await findInvoice(on.database, scope, subscription.latestInvoiceId ?? '');
    expect([subscription.status, invoice?.status]).toEqual(['active', 'paid']);
  });
});
