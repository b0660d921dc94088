import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { updateCustomer } from '../src/actions/update-customer.ts';
import type { Session } from '../src/domain/session.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { line } from './fixture.ts';
import { pay } from './pay.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());

const receipts = { receiptMerchantName: 'Care', customerEmail: 'ann@example.com' };

const cardsOf = async (session: Session) =>
  (await fixture.issuedReceipt(session)).payments.map(({ leg, cardKind }) => [leg, cardKind]);

describe('what the receipt of a session says of its cards', () => {
  it.each([
    ['hsa', 'health'],
    ['credit', 'other'],
    ['undescribed', 'unknown'],
  ])(
    'is what the card %s of a confirm was taken for, though it pays the health leg: %s [D14.306]',
    async (name, kind) => {
      const card = await fixture.card(name);
      const session = await fixture.mixedSession(card, receipts);
      await fixture.confirm(session, card);
      expect(await cardsOf(session)).toEqual([['health', kind]]);
    },
  );

  it('is what each of two cards on the page was taken for [D14.306]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa, receipts);
    await pay(fixture, session, [hsa, credit]);
    expect(await cardsOf(session)).toEqual([
      ['health', 'health'],
      ['other', 'other'],
    ]);
  });

  it('is not known of an attempt of an earlier release [D14.306]', async () => {
    const session = await fixture.held({ parts: receipts });
    await fixture.test.admin('update checkout.charge_attempts set card_kind = null where subject_id = $1', [
      session.id,
    ]);
    await fixture.capture(session);
    expect(await cardsOf(session)).toEqual([
      ['health', 'unknown'],
      ['other', 'unknown'],
    ]);
  });
});

describe('for whom the receipt of a session is', () => {
  const shopperOf = async (
    parts: { customerEmail?: string; defaults?: object },
    customer: object = {},
    holder = '',
  ) => {
    const card = await fixture.card('credit');
    await updateCustomer(fixture.context, fixture.scope, card.customerId, customer);
    await fixture.test.admin('update checkout.payment_methods set billing_details = $2 where id = $1', [
      card.id,
      holder === '' ? {} : { name: holder },
    ]);
    const session = await fixture.mixedSession(card, { receiptMerchantName: 'Care', ...parts });
    await fixture.confirm(session, card);
    const { email, shopperName } = await fixture.issuedReceipt(session);
    return [email, shopperName];
  };
  const defaults = { email: 'default@example.com', firstName: 'Ada', lastName: 'Lovelace' };

  it('has the email of the session before that of its customer, and that of its defaults where nothing else is given [D14.86]', async () => {
    const customer = { email: 'customer@example.com' };
    const [asked = 'none'] = await shopperOf({ customerEmail: 'session@example.com', defaults }, customer);
    expect(asked).toBe('session@example.com');
    expect((await shopperOf({ defaults }, customer))[0]).toBe('customer@example.com');
    expect((await shopperOf({ defaults }))[0]).toBe('default@example.com');
  });

  it('has the name of the customer, else of the defaults, else on the card [D14.86]', async () => {
    expect((await shopperOf({ defaults }, { firstName: 'Ann', lastName: 'Lee' }, 'A Holder'))[1]).toBe('Ann Lee');
    expect((await shopperOf({ defaults }, {}, 'A Holder'))[1]).toBe('Ada Lovelace');
    expect((await shopperOf({}, {}, 'A Holder'))[1]).toBe('A Holder');
    expect((await shopperOf({}))[1]).toBeUndefined();
  });

  it('is for a shopper without an address too: it is issued, and mailed to nobody [D14.86]', async () => {
    expect(await shopperOf({})).toEqual(['', undefined]);
  });

  it('is issued for a session without a customer, in the modes payment and reimbursement [D14.86, D14.209]', async () => {
    for (const mode of ['payment', 'reimbursement']) {
      const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' })];
      const session = await fixture.session({ lines, mode, receiptMerchantName: 'Care' });
      await pay(fixture, session, [await fixture.card('credit')]);
      expect(await fixture.issuedReceipt(session)).toMatchObject({ email: '', merchantName: 'Care' });
    }
  });
});

describe('the receipt of a session that was captured later than it was paid', () => {
  const paid = '2025-12-29T18:00:00.000Z';
  const madeAt = (session: Session, time: string) =>
    fixture.test.admin('update checkout.payment_intents set created_at = $2 where session_id = $1', [session.id, time]);

  it('says when the shopper paid, and when the last of it was captured [D14.308]', async () => {
    const session = await fixture.held({ parts: receipts });
    await madeAt(session, paid);
    await fixture.capture(session);
    const { purchasedAtMs, atMs } = await fixture.issuedReceipt(session);
    expect(new Date(Number(purchasedAtMs)).toISOString()).toBe(paid);
    expect(atMs).toBeGreaterThan(purchasedAtMs ?? atMs);
  });

  it('counts a hold that was renewed as its first one [D14.308]', async () => {
    const [session, earlier] = [await fixture.held({ parts: receipts }), await fixture.held()];
    await madeAt(earlier, paid);
    await fixture.test.admin(
      `update checkout.payment_intents i set renews = (select e.id from checkout.payment_intents e where e.session_id = $2 and e.leg = i.leg)
       where i.session_id = $1`,
      [session.id, earlier.id],
    );
    await fixture.capture(session);
    expect(new Date(Number((await fixture.issuedReceipt(session)).purchasedAtMs)).toISOString()).toBe(paid);
  });

  it('names the lines of which less was captured than their total [D14.308]', async () => {
    const session = await fixture.held({ parts: receipts });
    const [health = '', other = ''] = await fixture.prices(session);
    await fixture.capture(session, { entries: [{ priceId: health, amount: 1_000 }] });
    await fixture.capture(session, { entries: [{ priceId: other, amount: 2_400 }], isFinal: true });
    const { lines, partlyCapturedLineIds } = await fixture.issuedReceipt(session);
    expect(partlyCapturedLineIds).toEqual(
      lines.filter(({ priceId }) => priceId === health).map((one) => one.lineItemId),
    );
  });

  it.each([900, 990, 1_000])(
    'has no negative items where %i of 1000 cents are tax, and fees have a share [D14.308]',
    async (tax) => {
      const session = await fixture.held({ parts: { ...receipts, fees: [{ amountCents: 2_000n }] } });
      await fixture.capture(session, { amount: 1_000, tax, isFinal: true });
      const { captured } = await fixture.issuedReceipt(session);
      if (captured === undefined) throw new Error('the receipt has no captured amounts');
      const { subtotalCents, discountCents, shippingCents, taxCents, feeCents, totalCents } = captured;
      for (const amount of [subtotalCents, feeCents]) expect(amount).toBeGreaterThanOrEqual(0n);
      expect(subtotalCents - discountCents + shippingCents + taxCents + feeCents).toBe(totalCents);
      expect([taxCents, totalCents]).toEqual([BigInt(tax), 1_000n]);
    },
  );
});
