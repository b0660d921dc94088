import { type Constellation, startConstellation } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { record, text } from '../src/records.ts';
import { newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

describe('who says that a card is a health card, through the public interface', () => {
  let eligo: Constellation;
  let shop: Shop;
  let customer: string;

  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    shop = await openShop(eligo.api());
    customer = await newCustomer(eligo.api());
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  const cardOf = async (id: string) => {
    const method = record(await eligo.api().ok('GET', `/v1/payment_methods/${id}`), 'payment_method');
    const { hsa_fsa, hsa_fsa_source } = record(method, 'card');
    return [hsa_fsa, hsa_fsa_source];
  };
  const update = (id: string, payment_method: object) =>
    eligo.api().patch(`/v1/payment_methods/${id}`, { payment_method });

  it('shows the source beside the answer, and takes a partner’s statement [REC-1, END-1, D14.71]', async () => {
    const [hsa, credit, unknown] = await Promise.all(
      ['hsa', 'credit', 'undescribed'].map((card) => newCard(eligo.api(), customer, card)),
    );
    if (!hsa || !credit || !unknown) throw new Error('three cards');
    expect(await Promise.all([hsa, credit, unknown].map(cardOf))).toEqual([
      [true, 'processor'],
      [false, 'processor'],
      [null, null],
    ]);
    // A whole fetched record changes nothing: null says nothing.
    const { payment_method: fetched } = (await eligo.api().ok('GET', `/v1/payment_methods/${unknown}`)) as {
      payment_method: object;
    };
    expect((await update(unknown, fetched)).status).toBe(200);
    expect(await cardOf(unknown)).toEqual([null, null]);
    expect((await update(unknown, { card: { hsa_fsa: true } })).body).toMatchObject({
      payment_method: { payment_method_id: unknown, card: { hsa_fsa: true, hsa_fsa_source: 'partner' } },
    });
    expect(await update(hsa, { card: { hsa_fsa: false } })).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await update(newId('payment_method'), { card: { hsa_fsa: true } })).toMatchObject({
      status: 404,
      body: { code: 'payment_method_not_found' },
    });
    expect(await update(unknown, { card: { hsa_fsa: 'yes' } })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'payment_method', 'card', 'hsa_fsa'] }] },
    });
  });

  it('takes the slot of each card where a helper completes a session as its shopper [RUN-3, D14.70]', async () => {
    const session = text(await newSession(eligo.api(), shop, { customer }), 'checkout_session_id');
    const complete = (checkout_session: object) =>
      eligo.api().post(`/v1/test_helpers/checkout/sessions/${session}/complete`, { checkout_session });
    expect(await complete({ payment_method: 'undescribed', payment_method_slot: 'wallet' })).toMatchObject({
      status: 422,
    });
    expect((await complete({ payment_method: 'undescribed' })).body).toMatchObject({
      checkout_session: { status: 'open', next_action: { type: 'provide_second_payment_method' } },
    });
    expect((await complete({ payment_method: 'undescribed', payment_method_slot: 'other' })).body).toMatchObject({
      checkout_session: { status: 'complete', amount_received: 11_773 },
    });
  });
});
