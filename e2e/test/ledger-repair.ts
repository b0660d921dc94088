import { checkLedger } from '@eligo/cli';
import type { Database } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { expect, it } from 'vitest';
import { booksAgree } from '../src/books.ts';
import { newCart, type RunningShop } from '../src/crashes/running-shop.ts';
import { type Json, record, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, make, newCustomer } from '../src/shop.ts';

/** That the books agree after many refunds of one session at once. */
export function describeBusyRefunds(started: () => RunningShop): void {
  it('finds nothing after 200 partial refunds of one session at once, which never give back more than was captured [SREF-3, D14.155]', async () => {
    const running = started();
    const { api, eligo } = running;
    const cart = await newCart(running);
    const paid = record((await confirm(api, cart.sessionId, cart.card)).body, 'checkout_session');
    const captured = Number(record(paid, 'payment_intent').amount_received);
    const amount = Math.floor(captured / 150);
    const path = `/v1/checkout/sessions/${cart.sessionId}`;
    const refund = async () => {
      const idempotencyKey = crypto.randomUUID();
      for (;;) {
        const { status, body } = await api.post(`${path}/refund`, { checkout_session: { amount } }, { idempotencyKey });
        // Busy: the same request again, as a client does.
        if (status !== 503 && status !== 429) return status === 200 ? 'refunded' : `${status} ${body.code}`;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    };
    const ends = await Promise.all(Array.from({ length: 200 }, refund));
    const refunded = ends.filter((end) => end === 'refunded').length;
    expect(refunded).toBe(Math.floor(captured / amount));
    // A conflict: it came again while its refusal was stored.
    for (const end of ends) expect(end).toMatch(/^(refunded|4\d\d (refund_amount_exceeds_remaining|conflict))$/);
    expect((await api.ok('GET', path)).checkout_session).toMatchObject({ amount_refunded: refunded * amount });
    const [given] = await eligo.database.admin<{ cents: number }>(
      `select sum(i.amount_cents)::int as cents from refunds.refunds r join refunds.refund_items i on i.refund_id = r.id
        where r.subject_session_id = $1 and i.status not in ('failed', 'canceled')`,
      [cart.sessionId],
    );
    expect(given?.cents).toBe(refunded * amount);
    await booksAgree(eligo);
  }, 120_000);
}

/** That the command line repairs what an earlier release posts. */
export function describeRepair(started: () => { readonly running: RunningShop; readonly database: Database }): void {
  it('repairs what a release leaves that knew one balance transaction for all cards and ran beside this one: refunds, their failures, and captures [D14.257, D14.155]', async () => {
    const { running, database } = started();
    const { api, eligo } = running;
    const { admin } = eligo.database;
    const { refund, capture } = await moneyOfTwoCards(running);
    const shown = () => admin(rowsOf, [refund, capture]);
    const named = () =>
      admin<{ id: string; name: string }>(
        `select id, balance_transaction_id as name from checkout.charges where id in (${chargesOf}) and $1 <> ''`,
        [refund, capture],
      );
    await waitUntil(
      async () =>
        (await checkLedger(database)).length === 0 && (await shown()).every(({ payout_id }) => payout_id !== null),
      { withinMs: 30_000, what: 'the ledger to agree, and the payout to name what it took' },
    );
    const before = await shown();
    expect(before.map(({ type }) => type)).toEqual([
      'charge',
      'charge',
      'refund',
      'refund',
      'refund_failure',
      'refund_failure',
    ]);
    await admin(
      `set session_replication_role = replica; ${asPostedByAnEarlierRelease(refund, capture)} set session_replication_role = default`,
    );
    const faults = (await checkLedger(database)).filter(({ state }) => state === 'wrong').map(({ fault }) => fault);
    expect(new Set(faults)).toEqual(
      new Set([
        ...['capture_without_balance_transaction', 'captures_share_a_balance_transaction'],
        'charge_names_another_balance_transaction',
        ...['refund_part_on_another_balance_transaction', 'refund_settled_beyond_its_amount'],
      ]),
    );
    // The ledger still has the movement where it was.
    await expect(
      admin(`update refunds.balance_transactions set processor_transaction_id = 'txn_x' where settled_cents <> 0`),
    ).rejects.toThrow('processor_transaction_is_final');

    expect(await runCli(eligo, ['ledger', 'repair'])).toEqual({ refunds: 1, captures: 1, charges: 1 });
    expect(await checkLedger(database)).toEqual([]);
    // Without another payout, the job looks within a minute.
    const cart = await newCart(running);
    await confirm(api, cart.sessionId, cart.card);
    await make(api, '/v1/test_helpers/payouts', 'payout', {});
    await waitUntil(async () => (await shown()).every(({ payout_id }) => payout_id !== null), {
      what: 'the payout to name again what it took',
    });
    expect(await shown()).toEqual(before);
    const charges = await named();
    expect(new Set(charges.map(({ name }) => name)).size).toBe(2);
    for (const { id, name } of charges) {
      const { balance_transaction } = await api.ok('GET', `/v1/balance_transactions/${name}`);
      expect(balance_transaction).toMatchObject({ type: 'charge' });
      expect((await api.ok('GET', `/v1/charges/${id}`)).charge).toMatchObject({ balance_transaction: name });
    }
    expect(await runCli(eligo, ['ledger', 'repair'])).toEqual({ refunds: 0, captures: 0, charges: 0 });
    for (const schema of ['refunds', 'checkout']) {
      const actions = await admin(`select 1 from ${schema}.operator_actions where action = 'ledger repair'`);
      expect(actions).toHaveLength(2);
    }
    await booksAgree(eligo);
  }, 60_000);
}

/** A refund over two cards that pay the same, which both banks return; a capture of two cards; and a payout that takes all of it. */
async function moneyOfTwoCards({ api, shop }: RunningShop): Promise<{ refund: string; capture: string }> {
  const towel = { name: 'Bath sheet', hsa_fsa_eligibility: 'not_eligible' };
  const price = text(await make(api, '/v1/prices', 'price', { product_data: towel, unit_amount: 4_999 }), 'price_id');
  const lines = [shop.eligiblePriceId, price].map((one) => ({ price: one, quantity: 1 }));
  const pay = async (fields: Json) => {
    const body = {
      line_items: lines,
      success_url: 'https://shop.example/ok',
      customer: await newCustomer(api),
      ...fields,
    };
    const path = `/v1/checkout/sessions/${text(await make(api, '/v1/checkout/sessions', 'checkout_session', body), 'checkout_session_id')}`;
    const cards = { payment_method: 'hsa', second_payment_method: 'credit' };
    await make(api, path.replace('/v1', '/v1/test_helpers').concat('/complete'), 'checkout_session', cards);
    return path;
  };
  const refunded = await make(api, `${await pay({})}/refund`, 'checkout_session', {});
  const [refund] = refunded.refunds as string[];
  await api.ok('POST', `/v1/test_helpers/refunds/${refund}/fail`, { body: {} });
  const held = await pay({ capture_method: 'manual' });
  const captured = await make(api, `${held}/capture`, 'checkout_session', { amount: 3_001, final_capture: true });
  const [capture] = captured.captures as string[];
  await make(api, '/v1/test_helpers/payouts', 'payout', {});
  return { refund: refund ?? '', capture: capture ?? '' };
}

const chargesOf = `select c.id from checkout.charges c join checkout.ledger_entries e
  on (e.account_id, e.test_mode, e.payment_intent_id) = (c.account_id, c.test_mode, c.payment_intent_id) where e.source_id = $2 and e.kind = 'capture'`;
const rowsOf = `select type, amount_cents, fee_cents, settled_cents, status, available_on, payout_id from refunds.balance_transactions
  where source_id = $1 or source_id in (${chargesOf}) order by 1, 2`;

/** Rewrites both as releases post them that settle all parts of a refund on one balance transaction, and name a capture's by the capture. */
function asPostedByAnEarlierRelease(refund: string, capture: string): string {
  const whole = (
    of: string,
  ) => `settled_cents = (select sum(amount_cents) from refunds.ledger_transactions where ${of}),
    fee_cents = (select sum(fee_cents) from refunds.ledger_transactions where ${of})`;
  const none = `settled_cents = 0, fee_cents = 0, processor = null, processor_account = null, processor_transaction_id = null, payout_id = null`;
  const shared = `fbtxn_${capture.slice(capture.indexOf('_') + 1)}`;
  const onOne = (type: string, sign: string, keeper: string) => {
    const of = `source_id = '${refund}' and kind = 'refund' and amount_cents ${sign} 0`;
    return `update refunds.ledger_transactions set balance_transaction_id = (${keeper}) where ${of};
      update refunds.balance_transactions set ${none} where source_id = '${refund}' and type = '${type}' and id <> (${keeper});
      update refunds.balance_transactions set ${whole(of)} where id = (${keeper});`;
  };
  const own = `source_id in (${chargesOf.replace('$2', `'${capture}'`)})`;
  return `${onOne('refund', '<', `select balance_transaction_id from refunds.refunds where id = '${refund}'`)}
    ${onOne('refund_failure', '>', `select min(id) from refunds.balance_transactions where source_id = '${refund}' and type = 'refund_failure'`)}
    delete from refunds.balance_transactions where ${own} and id <> (select balance_transaction_id from refunds.ledger_transactions
      where ${own} and kind = 'capture' order by id limit 1);
    update refunds.balance_transactions set id = '${shared}', ${whole(`${own} and kind = 'charge'`)} where ${own};
    update refunds.ledger_transactions set balance_transaction_id = '${shared}' where ${own};`;
}
