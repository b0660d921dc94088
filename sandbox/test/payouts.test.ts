import { expect, test } from 'vitest';
import { newIntent, newSandbox, sdk, sender } from './support.ts';

const account = 'acct_test0001';
const day = 24 * 60 * 60 * 1_000;
const inDays = (at: number) => (at - Date.now() / 1_000) / 86_400;

async function open() {
  const { url } = await newSandbox();
  const [stripe, plain] = [sdk(url, account), sender(url, account)];
  const charge = async () => {
    const id = await newIntent(plain);
    return (await plain.post(`/v1/payment_intents/${id}/confirm`, {})).json.latest_charge;
  };
  const advance = (ms: number) => plain.witness('POST', '/sandbox/clock', { advance_ms: ms });
  return { stripe, plain, charge, advance };
}

test('what is available is paid out at midnight, and a payout lists what it took: they sum to nothing', async () => {
  const { stripe, charge, advance } = await open();
  const [one, other] = [await charge(), await charge()];
  await stripe.refunds.create({ charge: one, amount: 250 });
  await advance(2 * day - 1_000);
  expect((await stripe.payouts.list()).data).toEqual([]);
  await advance(day);
  const [payout, ...more] = (await stripe.payouts.list()).data;
  expect(more).toEqual([]);
  expect(payout).toMatchObject({ amount: 2 * 941 - 250, automatic: true, status: 'in_transit', currency: 'usd' });
  expect(inDays(payout?.arrival_date ?? 0)).toBeCloseTo(2, 1);
  const id = String(payout?.id);
  const taken = await stripe.balanceTransactions.list({ payout: id, limit: 2 });
  const rest = await stripe.balanceTransactions.list({ payout: id, starting_after: String(taken.data[1]?.id) });
  const all = [...taken.data, ...rest.data];
  expect([taken.has_more, rest.has_more]).toEqual([true, false]);
  expect(all.map(({ type }) => type)).toEqual(['payout', 'refund', 'charge', 'charge']);
  expect(all.map(({ source }) => source)).toEqual(expect.arrayContaining([id, one, other]));
  expect(all.reduce((sum, { net }) => sum + net, 0)).toBe(0);
  for (const currency of ['usd', 'cad']) {
    const ofCurrency = currency === 'usd' ? all.length : 0;
    expect((await stripe.balanceTransactions.list({ payout: id, currency })).data).toHaveLength(ofCurrency);
    expect((await stripe.balanceTransactions.list({ currency })).data).toHaveLength(ofCurrency);
  }
  await advance(2 * day);
  const paid = await stripe.payouts.retrieve(id, { expand: ['balance_transaction'] });
  expect(paid).toMatchObject({ status: 'paid', balance_transaction: { type: 'payout', amount: -1_632, fee: 0 } });
  expect((await stripe.payouts.list()).data).toHaveLength(1);
  const types = (await stripe.events.list({ limit: 100 })).data.map(({ type }) => type);
  expect(types.filter((type) => type.startsWith('payout'))).toEqual(['payout.paid', 'payout.created']);
});

test('a payout that fails brings its money back, which goes with the next', async () => {
  const { stripe, plain, charge, advance } = await open();
  await charge();
  const made = await plain.witness('POST', '/sandbox/payouts', { account });
  expect(made.json).toMatchObject({ object: 'payout', amount: 941 });
  const again = await plain.witness('POST', '/sandbox/payouts', { account });
  expect(again.status).toBe(400);
  const failed = await plain.witness('POST', `/sandbox/payouts/${made.json.id}/fail`);
  expect(failed.json).toMatchObject({ status: 'failed', failure_code: 'account_closed' });
  expect((await plain.witness('POST', `/sandbox/payouts/${made.json.id}/fail`)).status).toBe(400);
  await advance(3 * day);
  const { data } = await stripe.payouts.list();
  expect(data.map(({ amount, status }) => [amount, status])).toEqual([
    [941, 'in_transit'],
    [941, 'failed'],
  ]);
  const returned = await stripe.balanceTransactions.list({ payout: String(data[0]?.id) });
  expect(returned.data.map(({ type, reporting_category }) => [type, reporting_category])).toEqual([
    ['payout', 'payout'],
    ['payout_failure', 'payout_reversal'],
  ]);
  await expect(stripe.payouts.retrieve('po_none')).rejects.toMatchObject({ statusCode: 404 });
  await expect(stripe.balanceTransactions.list({ payout: 'po_none' })).rejects.toMatchObject({ statusCode: 400 });
});

test('a balance that owes money is carried to the next day', async () => {
  const { stripe, charge, advance } = await open();
  await stripe.refunds.create({ charge: await charge() });
  await advance(4 * day);
  expect((await stripe.payouts.list()).data).toEqual([]);
  await charge();
  await advance(4 * day);
  expect((await stripe.payouts.list()).data).toMatchObject([{ amount: 941 - 59 }]);
});
