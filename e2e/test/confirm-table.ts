import { type Api, type Constellation, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, record, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

/**
 * Every row of the interface's confirm table, each reached by public calls, the command-line tool and the sandbox's faults, never by writing to
 * the database.
 */
export function describeConfirmTable(started: () => Constellation): void {
  describe('the confirm table', () => {
    let eligo: Constellation;
    let api: Api;
    let shop: Shop;
    let customer: string;
    let card: string;

    beforeAll(async () => {
      eligo = started();
      api = eligo.api();
      shop = await openShop(api);
      customer = await newCustomer(api);
      card = await newCard(api, customer, 'hsa');
    });

    const idOf = async (session: Promise<Json> | Json) => text(await session, 'checkout_session_id');
    const refused = (status: number, code: string) => ({ status, body: { code, detail: expect.any(String) } });

    it('400 idempotency_key_required [CONF-1, LIM-3, ERR-5]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      const answer = await api.post(`/v1/checkout/sessions/${id}/confirm`, {
        checkout_session: { payment_method: card },
      });
      expect(answer).toMatchObject(refused(400, 'idempotency_key_required'));
    });

    it('400 checkout_session_already_processed [SESS-3, ERR-5]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      expect((await confirm(api, id, card)).status).toBe(200);
      expect(await confirm(api, id, card)).toMatchObject(refused(400, 'checkout_session_already_processed'));
    });

    it('400 checkout_session_expired [SESS-3, ERR-5]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/expire`);
      expect(await confirm(api, id, card)).toMatchObject(refused(400, 'checkout_session_expired'));
    });

    it('400 checkout_session_canceled [SESS-3, ERR-5]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      await api.ok('POST', `/v1/checkout/sessions/${id}/cancel`);
      expect(await confirm(api, id, card)).toMatchObject(refused(400, 'checkout_session_canceled'));
    });

    it('404 checkout_session_not_found [ERR-6]', async () => {
      const unknown = await confirm(api, newId('checkout_session'), card);
      expect(unknown).toMatchObject(refused(404, 'checkout_session_not_found'));
      const live = await confirm(eligo.api(eligo.liveApiKey), await idOf(newSession(api, shop, { customer })), card);
      expect(live.text).toBe(unknown.text);
      expect((await confirm(api, 'fcs_1', card)).text).toBe(unknown.text);
    });

    it('404 payment_method_not_found [ERR-6]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      for (const absent of [newId('payment_method'), newId('customer'), 'fpm_unknown', '']) {
        expect(await confirm(api, id, absent)).toMatchObject(refused(404, 'payment_method_not_found'));
      }
    });

    it('404 customer_not_found when the customer was deleted since creation [STATE-3, ERR-6]', async () => {
      const leaving = await newCustomer(api);
      const theirs = await newCard(api, leaving, 'hsa');
      const id = await idOf(newSession(api, shop, { customer: leaving }));
      await api.ok('DELETE', `/v1/customers/${leaving}`);
      expect(await confirm(api, id, theirs)).toMatchObject(refused(404, 'customer_not_found'));
    });

    it('404 eligibility_record_not_found for a session without lines [STATE-3, ERR-6]', async () => {
      const id = await idOf(make(api, '/v1/checkout/sessions', 'checkout_session', { mode: 'setup', customer }));
      expect(await confirm(api, id, card)).toMatchObject(refused(404, 'eligibility_record_not_found'));
    });

    it('404 food_eligibility_not_enabled once the account has lost the feature [STATE-3, ERR-6]', async () => {
      const made = await runCli(eligo, ['accounts', 'create', '--name', 'Grocer', '--feature', 'food_eligibility']);
      const grocer = eligo.api(text(made, 'test_api_key'));
      const component = await make(grocer, '/v1/product_components', 'product_component', {
        name: `Rolled oats ${newId('request')}`,
        category: 'base',
        nutrition_basis: 'per_100g',
        nutrition: { calories: 380, added_sugar_g: 0, sodium_mg: 5, saturated_fat_g: 1, trans_fat_g: 0 },
      });
      const price = await make(grocer, '/v1/prices', 'price', {
        product_data: { name: 'Oats', components: [text(component, 'component_id')] },
        unit_amount: 900,
      });
      const shopper = await newCustomer(grocer);
      const theirs = await newCard(grocer, shopper, 'hsa');
      const newCart = () =>
        make(grocer, '/v1/checkout/sessions', 'checkout_session', {
          line_items: [{ price: text(price, 'price_id'), quantity: 1 }],
          success_url: 'https://grocer.example/done',
          customer: shopper,
        });
      const eligibleCents = ({ total_details: details }: Json) => (details as { amount_iias: number }).amount_iias;
      const cart = await newCart();
      expect(eligibleCents(cart)).toBe(900);
      await runCli(eligo, ['accounts', 'update', text(made, 'account'), '--no-feature', 'food_eligibility']);
      // Until the gateway has heard of it, a confirm would pay.
      await waitUntil(async () => eligibleCents(await newCart()) === 0);
      expect(await confirm(grocer, await idOf(cart), theirs)).toMatchObject(
        refused(404, 'food_eligibility_not_enabled'),
      );
    });

    it('409 eligibility_record_already_charged while the page holds the health card’s part [STATE-3, ERR-7]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      const body = { checkout_session: { payment_method: card } };
      const page = record(
        await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, { body }),
        'checkout_session',
      );
      expect(page).toMatchObject({ status: 'open', next_action: { type: 'provide_second_payment_method' } });
      expect(await confirm(api, id, card)).toMatchObject(refused(409, 'eligibility_record_already_charged'));
    });

    it('409 idempotency_key_reused [ERR-7]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      await confirm(api, id, card, { key: 'once' });
      const answer = await confirm(api, id, card, { key: 'once', query: '?expand=customer' });
      expect(answer).toMatchObject(refused(409, 'idempotency_key_reused'));
    });

    it('422 manual_capture_not_supported, before money moves [CONF-4, ERR-8, D13.5]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      const answer = await confirm(api, id, card, { body: { capture_method: 'manual' } });
      expect(answer).toMatchObject(refused(422, 'manual_capture_not_supported'));
      const nowhere = await confirm(api, 'fcs_1', card, { body: { capture_method: 'manual' } });
      expect(nowhere).toMatchObject(refused(422, 'manual_capture_not_supported'));
    });

    it('422 other_payment_method_required once a health card that is short of money paid a part [ERR-8, CONF-2, D14.237]', async () => {
      const made = await runCli(eligo, ['accounts', 'create', '--name', 'Short', '--feature', 'partial_approvals']);
      const asking = eligo.api(text(made, 'test_api_key'));
      const shopper = await newCustomer(asking);
      const [short, credit] = [await newCard(asking, shopper, 'hsa_short'), await newCard(asking, shopper, 'credit')];
      const id = await idOf(newSession(asking, await openShop(asking), { customer: shopper }));
      const held = await confirm(asking, id, short);
      expect(held).toMatchObject({ status: 200, body: { checkout_session: { status: 'open', amount_received: 0 } } });
      expect(record(held.body, 'checkout_session')).toMatchObject({
        next_action: {
          type: 'provide_second_payment_method',
          provide_second_payment_method: { eligible_amount: 2_500, ineligible_amount: 3_385 },
        },
        payment_intent: { status: 'requires_capture', amount: 2_500 },
      });
      expect(await confirm(asking, id, short)).toMatchObject(refused(422, 'other_payment_method_required'));
      expect(await confirm(asking, id, credit)).toMatchObject({
        ...{
          status: 200,
          body: { checkout_session: { status: 'complete', amount_received: 5_885, next_action: null } },
        },
      });
    });

    it('422 payment_method_not_off_session [ERR-8]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      const onSession = await newCard(api, customer, 'hsa', { off_session: false });
      expect(await confirm(api, id, onSession)).toMatchObject(refused(422, 'payment_method_not_off_session'));
    });

    it.each([
      ['declined', 'card_declined', 'generic_decline'],
      ['insufficient_funds', 'card_declined', 'insufficient_funds'],
      ['authentication_required', 'authentication_required', 'authentication_required'],
    ])('402 for the card %s, and the same again for its key [ERR-10]', async (name, code, declineCode) => {
      const id = await idOf(newSession(api, shop, { customer }));
      const refusing = await newCard(api, customer, name);
      const first = await confirm(api, id, refusing, { key: `decline-${name}` });
      expect(first).toMatchObject({ status: 402, body: { code, decline_code: declineCode } });
      expect((await confirm(api, id, refusing, { key: `decline-${name}` })).text).toBe(first.text);
    });

    it('200 with payment_intent null when nothing that can be charged is eligible [CONF-3]', async () => {
      const line_items = [{ price: shop.otherPriceId, quantity: 1 }];
      const id = await idOf(newSession(api, shop, { customer, line_items }));
      const answer = await confirm(api, id, card);
      expect(answer).toMatchObject({
        status: 200,
        body: { checkout_session: { status: 'complete', payment_intent: null } },
      });
    });

    it('503 idempotency_key_in_use and lock_timeout while a charge is in flight [STATE-2, ERR-9]', async () => {
      const [id, another] = [
        await idOf(newSession(api, shop, { customer })),
        await idOf(newSession(api, shop, { customer })),
      ];
      // Behind one such charge a second of the same length would end too late to be answered.
      const fault = { call: 'payment_intents.confirm', kind: 'slow', delay_ms: 4_500, times: 1 };
      await eligo.sandbox('POST', '/sandbox/faults', { fault });
      const both = [1, 2].map(() => confirm(api, id, card, { key: 'slow' }));
      const busy = await Promise.race(both);
      expect(busy).toMatchObject(refused(503, 'idempotency_key_in_use'));
      expect(busy.headers.get('retry-after')).toBe('1');
      const waiting = await confirm(api, another, card);
      // A slow machine sends it so late that it has time to wait; `payment-turns.test.ts` of checkout holds the refusal.
      if (waiting.status !== 200) expect(waiting).toMatchObject(refused(503, 'lock_timeout'));
      expect((await Promise.all(both)).map((answer) => answer.status).sort()).toEqual([200, 503]);
      if (waiting.status !== 200) expect((await confirm(api, another, card)).status).toBe(200);
    });

    it('charges once for 16 confirms at once, with one key and with 16', async () => {
      for (const keyOf of [() => 'one', (index: number) => `key-${index}`]) {
        const id = await idOf(newSession(api, shop, { customer: await newCustomer(api) }));
        const own = await newCard(
          api,
          text(record((await api.get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session'), 'customer'),
          'hsa',
        );
        const answers = await Promise.all(
          Array.from({ length: 16 }, (_, index) => confirm(api, id, own, { key: keyOf(index) })),
        );
        for (const answer of answers) expect([200, 400, 503]).toContain(answer.status);
        await waitUntil(
          async () =>
            record((await api.get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session').status === 'complete',
        );
        const { data } = (await eligo.sandbox('GET', '/sandbox/charges?limit=1000')) as { data: { metadata: Json }[] };
        expect(data.filter((charge) => charge.metadata.session === id)).toHaveLength(1);
      }
    });
  });
}
