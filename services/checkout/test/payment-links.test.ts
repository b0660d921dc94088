import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { unscoped, withTx } from '@eligo/postgres';
import { PaymentLinkTermsSchema } from '@eligo/proto/checkout/v1/checkout';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPaymentLink, type NewPaymentLink } from '../src/actions/create-payment-link.ts';
import { visitPaymentLink } from '../src/actions/visit-payment-link.ts';
import { changePaymentLink, findPaymentLink, insertPaymentLink, listPaymentLinks } from '../src/store/payment-links.ts';
import { type Fixture, line, openFixture, start } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const thermometer = line({ unitAmount: 1999, class: 'auto_substantiation', quantity: 2 });
const hash = (n: number) => new Uint8Array(32).fill(n);

function make(parts: Partial<NewPaymentLink> = {}, key?: { key: string; requestHash: Uint8Array }) {
  const terms = create(PaymentLinkTermsSchema, {});
  return createPaymentLink(
    fixture.context,
    fixture.call,
    { lines: [thermometer], terms, active: true, metadata: {}, ...parts },
    key,
  );
}

describe('a payment link', () => {
  test('stores the prices that its lines stand for, and has a URL of its own [D14.85]', async () => {
    const terms = create(PaymentLinkTermsSchema, {
      successUrl: 'https://shop.example/done',
      setupFutureUse: 'off_session',
      shipping: { case: 'shippingRateData', value: { displayName: 'Ground', amountCents: 500n } },
      customText: { submitMessage: 'Thank you' },
    });
    const link = await make({ terms, metadata: { campaign: 'spring' } });
    expect(link).toMatchObject({
      active: true,
      mode: 'payment',
      metadata: { campaign: 'spring' },
      testMode: true,
      createdAtMs: BigInt(start.getTime()),
      url: expect.stringMatching(/^https:\/\/pay\.example\/\S+$/),
    });
    expect(link.terms).toMatchObject({
      lines: [{ priceId: expect.stringMatching(/^fprice_/), quantity: 2n }],
      successUrl: 'https://shop.example/done',
      setupFutureUse: 'off_session',
      customText: { submitMessage: 'Thank you' },
    });
    expect((await make()).url).not.toBe(link.url);
  });

  test('sells a subscription if one of its prices is recurring [D14.85]', async () => {
    expect(await make({ lines: [line({ unitAmount: 2999, recurring: true })] })).toMatchObject({
      mode: 'subscription',
    });
  });

  test('is refused with the field of its own body if no session could be made of its cart', async () => {
    await expect(make({ lines: [line({ unitAmount: 99_999_999, quantity: 2 })] })).rejects.toMatchObject({
      violations: [{ loc: ['body', 'payment_link', 'line_items'], type: 'amount_too_large' }],
    });
    const yearly = line({ unitAmount: 9900, recurring: { interval: 'year', intervalCount: 1 } });
    await expect(make({ lines: [line({ unitAmount: 900, recurring: true }), yearly] })).rejects.toMatchObject({
      violations: [{ loc: ['body', 'payment_link', 'line_items', '1', 'price'], type: 'value_error' }],
    });
    fixture.catalog.failNext(
      'resolveCart',
      Failure.invalid(['body', 'checkout_session', 'line_items', '0', 'price'], 'price_not_found', 'price_not_found'),
    );
    await expect(make()).rejects.toMatchObject({
      violations: [{ loc: ['body', 'payment_link', 'line_items', '0', 'price'], type: 'price_not_found' }],
    });
  });

  test('reserves no redemption and activates nothing', async () => {
    fixture.catalog.calls.length = 0;
    await make();
    expect(fixture.catalog.calls.map(({ name }) => name)).toEqual(['resolveCart']);
  });

  test('under a key the same body replays the response, and another body runs as new [D1.1]', async () => {
    const first = await make({}, { key: 'k', requestHash: hash(1) });
    expect(await make({}, { key: 'k', requestHash: hash(1) })).toEqual(first);
    const other = await make({}, { key: 'k', requestHash: hash(2) });
    expect(other.paymentLinkId).not.toBe(first.paymentLinkId);
    const { paymentLinks } = await listPaymentLinks(fixture.database, fixture.scope, { limit: 2 }, undefined);
    expect(paymentLinks.map(({ id }) => id)).toEqual([other.paymentLinkId, first.paymentLinkId]);
  });

  test('replays the response of its first request, also when a price was archived since or the catalog is down [D1.1]', async () => {
    const key = { key: 'replayed', requestHash: hash(1) };
    const first = await make({}, key);
    for (const failure of [
      Failure.invalid(['body', 'checkout_session', 'line_items', '0', 'price'], 'price_not_found', 'price_not_found'),
      new Error('the catalog is down'),
    ]) {
      fixture.catalog.failNext('resolveCart', failure);
      expect(await make({}, key)).toEqual(first);
      // The failure still waits: the catalog was not asked.
      await expect(make()).rejects.toThrow();
    }
  });

  test('changes its state and metadata alone: the database refuses every other change', async () => {
    const { paymentLinkId: id } = await make({ metadata: { a: '1' } });
    const { database, scope } = fixture;
    const changed = await withTx(database, scope, (tx) =>
      changePaymentLink(tx, scope, id, { active: false, metadata: null }),
    );
    expect(changed).toMatchObject({ id, active: false, metadata: { a: '1' } });
    for (const change of [`terms = '{}'`, `mode = 'subscription'`, 'created_at = now()', `id = 'fplink_x'`]) {
      const update = unscoped(`tests.${change}`, `update checkout.payment_links set ${change}`);
      await expect(withTx(database, scope, (tx) => tx.execute(update, null, []))).rejects.toThrow(/permission denied/);
    }
  });

  test('is listed by its state, newest first', async () => {
    const { paymentLinkId: inactive } = await make({ active: false });
    const { paymentLinkId: active } = await make();
    const ids = async (state: boolean) =>
      (await listPaymentLinks(fixture.database, fixture.scope, { limit: 1 }, state)).paymentLinks.map(({ id }) => id);
    expect(await ids(true)).toEqual([active]);
    expect(await ids(false)).toEqual([inactive]);
  });

  test('needs lines: the database refuses one without', async () => {
    const { paymentLinkId } = await make();
    const link = await findPaymentLink(fixture.database, fixture.scope, paymentLinkId);
    if (link === undefined) throw new Error('the payment link is gone');
    const { database, scope } = fixture;
    const empty = { ...link, id: 'fplink_empty', terms: { lines: [] } };
    await expect(withTx(database, scope, (tx) => insertPaymentLink(tx, scope, empty))).rejects.toThrow(
      /payment_link_has_lines/,
    );
  });
});

describe('a visit', () => {
  const visit = (id: string) => visitPaymentLink(fixture.context, fixture.call, id);

  test('of an inactive link opens no session [D14.85]', async () => {
    const { paymentLinkId } = await make({ active: false });
    await expect(visit(paymentLinkId)).rejects.toMatchObject({ code: 'payment_link_inactive' });
    await expect(visit('fplink_none')).rejects.toMatchObject({ code: 'payment_link_not_found' });
  });

  test('of a link whose price was archived opens no session [D14.85]', async () => {
    const { paymentLinkId } = await make();
    fixture.catalog.failNext('resolveCart', Failure.invalid(['body'], 'price_not_found', 'price_not_found'));
    await expect(visit(paymentLinkId)).rejects.toMatchObject({ code: 'payment_link_inactive' });
  });
});
