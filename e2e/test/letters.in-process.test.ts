import { type Api, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { booksAgree, stopWithBooks } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, newCard, newCustomer } from '../src/shop.ts';

describe('a letter of medical necessity, by public requests', () => {
  let eligo: Constellation;
  let api: Api;
  let customer: string;
  let product: string;
  let price: string;

  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    api = eligo.api();
    const made = await make(api, '/v1/products', 'product', {
      name: 'Massage gun',
      hsa_fsa_eligibility: 'letter_of_medical_necessity',
    });
    product = text(made, 'product_id');
    price = text(await make(api, '/v1/prices', 'price', { product, unit_amount: 19_900 }), 'price_id');
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  // A customer of its own: an approved letter serves the customer's next sessions.
  async function held(): Promise<{ session: string; url: unknown; letter: Json }> {
    customer = await newCustomer(api);
    const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
      ...{ line_items: [{ price, quantity: 1 }], customer, success_url: 'https://shop.example/done' },
    });
    const id = text(session, 'checkout_session_id');
    const paid = await make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', {
      payment_method: 'hsa',
    });
    const url = session.redirect_url;
    expect(paid).toMatchObject({
      ...{ status: 'paid', amount_received: 0 },
      next_action: {
        type: 'collect_letter_of_medical_necessity',
        collect_letter_of_medical_necessity: { url },
      },
    });
    const letters = records(await api.ok('GET', `/v1/letters?checkout_session=${id}`), 'letters');
    expect(letters).toHaveLength(1);
    return { session: id, url, letter: letters[0] as Json };
  }
  const decide = (letter: Json, verb: 'approve' | 'deny', as = api) =>
    as.post(`/v1/test_helpers/letters/${text(letter, 'letter_id')}/${verb}`);
  const sessionOf = async (id: string) =>
    record(await api.ok('GET', `/v1/checkout/sessions/${id}?expand=payment_intent`), 'checkout_session');
  const eventOf = (letter: Json, type: string) =>
    waitUntil(
      async () =>
        records(await api.ok('GET', `/v1/events?event_type=${type}`), 'events').find(
          ({ object }) => record(object as Json, 'letter').letter_id === letter.letter_id,
        ),
      { what: type },
    );

  it('is approved by the test helper: the hold is captured and the session is complete [RUN-6, D14.75, D14.76]', async () => {
    const { session, url, letter } = await held();
    expect(letter).toMatchObject({
      ...{ status: 'in_review', product, customer, checkout_session: session, url, decided_at: null },
      test_mode: true,
    });
    const answer = await decide(letter, 'approve');
    expect(answer.status).toBe(200);
    const approved = record(answer.body, 'letter');
    expect(approved).toMatchObject({ ...letter, status: 'approved', ...datesOf(approved) });
    expect(await sessionOf(session)).toMatchObject({
      ...{ status: 'complete', next_action: null, amount_received: 19_900 },
      payment_intent: { status: 'succeeded', amount_received: 19_900 },
    });
    const event = await eventOf(letter, 'consultation.approved');
    const read = await api.ok('GET', `/v1/letters/${text(letter, 'letter_id')}`);
    const { reviewer, ...withoutReviewer } = record(read, 'letter');
    expect(reviewer).toBeNull();
    expect(event.object).toEqual({ letter: withoutReviewer });
    expect(record(read, 'letter')).toEqual(approved);
    expect(await decide(letter, 'deny')).toMatchObject({ status: 409, body: { code: 'letter_not_in_review' } });
    await booksAgree(eligo);
  });

  it('is denied by the test helper: the hold is voided and the session is canceled [RUN-6, D14.76]', async () => {
    const { session, letter } = await held();
    expect(record((await decide(letter, 'deny')).body, 'letter')).toMatchObject({ status: 'denied' });
    expect(await sessionOf(session)).toMatchObject({
      ...{ status: 'canceled', next_action: null, amount_received: 0 },
      payment_intent: { status: 'canceled' },
    });
    const read = await api.ok('GET', `/v1/letters/${text(letter, 'letter_id')}`);
    const { reviewer: _none, ...withoutReviewer } = record(read, 'letter');
    expect((await eventOf(letter, 'consultation.denied')).object).toEqual({ letter: withoutReviewer });
    const { timeline } = await api.ok('GET', `/v1/checkout/sessions/${session}/timeline`);
    const told = (timeline as Json[]).map(({ type, code, event_type }) => [type, code ?? event_type]);
    expect(told).toEqual(
      expect.arrayContaining([
        ['session.canceled', 'letter_denied'],
        ['letter.denied', null],
        ['event.created', 'consultation.denied'],
        ['payment.authorized', null],
      ]),
    );
    await booksAgree(eligo);
  });

  it('ends with a canceled session [D14.77]', async () => {
    const { session, letter } = await held();
    await api.ok('POST', `/v1/checkout/sessions/${session}/cancel`);
    expect((await eventOf(letter, 'consultation.expired')).object).toMatchObject({ letter: { status: 'expired' } });
  });

  it('is listed by customer and by status, and expands its product and customer [END-1]', async () => {
    const { letter } = await held();
    const query = `customer=${customer}&status=in_review&expand=product,customer`;
    const [listed] = records(await api.ok('GET', `/v1/letters?${query}`), 'letters');
    expect(listed).toMatchObject({
      letter_id: letter.letter_id,
      product: { product_id: product, name: 'Massage gun' },
      customer: { customer_id: customer },
    });
    expect((await api.get('/v1/letters?status=lost')).status).toBe(422);
  });

  it('is decided by no live key [RUN-6, D14.76]', async () => {
    const { letter } = await held();
    for (const verb of ['approve', 'deny'] as const) {
      const answer = await decide(letter, verb, eligo.api(eligo.liveApiKey));
      expect(answer).toMatchObject({ status: 403, body: { code: 'test_mode_required' } });
    }
  });

  // The last two: they change what the account's sessions take.
  it('takes the fee that the operator sets, and refunds it where an ordinary card pays for everything [D14.179]', async () => {
    await runCli(eligo, ['accounts', 'update', eligo.account, '--letter-fee', '1500']);
    const sell = () =>
      make(api, '/v1/checkout/sessions', 'checkout_session', {
        ...{ line_items: [{ price, quantity: 1 }], success_url: 'https://shop.example/done' },
      });
    const made = await waitUntil(
      async () => {
        const session = await sell();
        return session.amount_total === 21_400 && session;
      },
      { what: 'the letter fee in a new session' },
    );
    expect(made).toMatchObject({
      platform_fees: { letter_fee: { amount: 1_500, status: 'pending', type: 'lmn_consultation' } },
      fees: [{ fee_type: 'lmn_consultation', amount: 1_500, applied: true }],
    });
    const id = text(made, 'checkout_session_id');
    const paying = { payment_method: 'credit' };
    await make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', paying);
    const session = await waitUntil(
      async () => {
        const now = await sessionOf(id);
        return now.amount_refunded === 1_500 && now;
      },
      { what: 'the refund of the fee' },
    );
    expect(session).toMatchObject({ status: 'complete', platform_fees: { letter_fee: { status: 'refunded' } } });
    const [refundId] = session.refunds as string[];
    await waitUntil(
      async () => record(await api.ok('GET', `/v1/refunds/${refundId}`), 'refund').status === 'succeeded',
      { what: 'the refund' },
    );
    expect(await api.ok('GET', `/v1/refunds/${refundId}`)).toMatchObject({
      refund: { amount: 1_500, reason: 'letter_not_needed' },
    });
    await booksAgree(eligo);
  });

  it('is denied for a plan: its fee is refunded, and after a refund of a part a prorated cancellation gives exactly the unused time back to the card that paid the plan [D14.172, D14.349, D14.385]', async () => {
    await runCli(eligo, ['accounts', 'update', eligo.account, '--letter-fee', '1500']);
    const frozen_time = '2030-04-01T00:00:00Z';
    const clock = text(await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time }), 'test_clock_id');
    const owner = await newCustomer(api, { test_clock: clock, first_name: 'Ada', last_name: 'Lovelace' });
    const glasses = await make(api, '/v1/products', 'product', { name: 'Glasses', hsa_fsa_eligibility: 'vision' });
    const monthly = { recurring: { interval: 'month' } };
    const plan = text(await make(api, '/v1/prices', 'price', { product, unit_amount: 2_000, ...monthly }), 'price_id');
    const device = text(
      await make(api, '/v1/prices', 'price', { product: text(glasses, 'product_id'), unit_amount: 3_000 }),
      'price_id',
    );
    const sell = () =>
      make(api, '/v1/checkout/sessions', 'checkout_session', {
        ...{ mode: 'subscription', customer: owner, success_url: 'https://shop.example/done' },
        line_items: [plan, device].map((one) => ({ price: one, quantity: 1 })),
      });
    const made = await waitUntil(
      async () => {
        const session = await sell();
        return session.amount_total === 6_500 && session;
      },
      { what: 'the letter fee in a new session' },
    );
    const id = text(made, 'checkout_session_id');
    const cards = { hsa: await newCard(api, owner, 'hsa'), credit: await newCard(api, owner, 'credit') };
    const pay = (paying: Json) =>
      make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', paying);
    expect(await pay({ payment_method: cards.hsa })).toMatchObject({ status: 'paid', amount_received: 0 });
    // The shopper is on the page, so that the session goes on with another card for the plan.
    expect((await fetch(`${text(made, 'redirect_url')}/session`)).status).toBe(200);
    const [letter = {}] = records(await api.ok('GET', `/v1/letters?checkout_session=${id}`), 'letters');
    expect((await decide(letter, 'deny')).status).toBe(200);
    await waitUntil(async () => (await sessionOf(id)).status === 'open', { what: 'the session to be open again' });
    const sold = await waitUntil(
      async () => {
        const answer = await api.post(`/v1/test_helpers/checkout/sessions/${id}/complete`, {
          checkout_session: { payment_method: cards.hsa, second_payment_method: cards.credit },
        });
        return answer.status === 200 && record(answer.body, 'checkout_session');
      },
      { withinMs: 20_000, what: 'the payment with another card, once the hold is voided' },
    );
    expect(sold).toMatchObject({ status: 'complete', platform_fees: { letter_fee: { status: 'refunded' } } });
    const isRefunded = (amount: number) =>
      waitUntil(async () => (await sessionOf(id)).amount_refunded === amount, {
        ...{ withinMs: 20_000, what: `a refund of ${amount}` },
      });
    await isRefunded(1_500);
    const refundedOfLines = async () => {
      const { line_items: lines } = record(
        await api.ok('GET', `/v1/checkout/sessions/${id}/substantiation`),
        'substantiation',
      );
      return (lines as Json[]).map(({ amount_total, amount_refunded }) => [amount_total, amount_refunded]);
    };
    expect(await refundedOfLines()).toEqual([
      [3_500, 1_500],
      [3_000, 0],
    ]);
    await api.ok('POST', `/v1/checkout/sessions/${id}/refund`, {
      body: { checkout_session: { line_items: [{ price: plan, amount_to_refund: 500 }] } },
    });
    await isRefunded(2_000);
    expect((await advanceClock(api, clock, '2030-04-16T00:00:00Z')).status).toBe(200);
    // Half of the 15.00 that the shop has kept of the plan.
    const subscription = text(sold, 'subscription');
    expect(
      (await api.delete(`/v1/subscriptions/${subscription}`, { subscription: { refund: 'prorated' } })).status,
    ).toBe(200);
    await isRefunded(2_750);
    expect(await refundedOfLines()).toEqual([
      [3_500, 2_750],
      [3_000, 0],
    ]);
    const atProcessor = async () => {
      const all = records(await eligo.sandbox('GET', '/sandbox/charges'), 'data');
      const own = all.filter(
        ({ metadata, amount_captured }) => (metadata as Json).session === id && Number(amount_captured) > 0,
      );
      return own
        .map((one) => [Number(one.amount_captured), Number(one.amount_refunded)])
        .toSorted(([a], [b]) => Number(a) - Number(b));
    };
    await waitUntil(async () => (await atProcessor()).some(([, refunded]) => refunded === 2_750), {
      ...{ withinMs: 20_000, what: 'the refunds at the processor' },
    });
    expect(await atProcessor()).toEqual([
      [3_000, 0],
      [3_500, 2_750],
    ]);
    await booksAgree(eligo);
  });
});

function datesOf({ decided_at, expires_at }: Json) {
  expect(Date.parse(String(expires_at)) - Date.parse(String(decided_at))).toBeGreaterThan(364 * 86_400_000);
  return { decided_at, expires_at };
}
