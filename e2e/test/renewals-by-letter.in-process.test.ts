import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Api, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, newCard, newCustomer } from '../src/shop.ts';

let eligo: Constellation;
let api: Api;
let folder: string;

beforeAll(async () => {
  eligo = await startConstellation({ topology: 'in-process' });
  api = eligo.api();
  folder = await mkdtemp(join(tmpdir(), 'eligo-codes-'));
}, 180_000);
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await stopWithBooks(eligo);
}, 60_000);

const advance = async (clock: string, time: string) =>
  expect(await advanceClock(api, clock, time)).toMatchObject({ body: { test_clock: { status: 'ready' } } });

/** A customer on a clock of its own, with a health card and another one. */
async function newPayer(time: string) {
  const fields = { frozen_time: time, name: 'a test' };
  const clock = text(await make(api, '/v1/test_helpers/test_clocks', 'test_clock', fields), 'test_clock_id');
  const customer = await newCustomer(api, { test_clock: clock });
  return { clock, customer, hsa: await newCard(api, customer, 'hsa'), credit: await newCard(api, customer, 'credit') };
}
type Payer = Awaited<ReturnType<typeof newPayer>>;

/** A price that recurs, of a product with these fields. */
async function newPrice(fields: Json, unit_amount: number, interval_count = 1) {
  const product = await make(api, '/v1/products', 'product', { name: 'A product', ...fields });
  const id = text(product, 'product_id');
  const recurring = { interval: 'month', interval_count };
  return {
    product: id,
    price: text(await make(api, '/v1/prices', 'price', { product: id, unit_amount, recurring }), 'price_id'),
  };
}

/** Sells prices to a customer, on both cards. */
async function sell({ customer, hsa, credit }: Payer, mode: string, prices: readonly string[]) {
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
    ...{ mode, customer, success_url: 'https://shop.example/done' },
    line_items: prices.map((price) => ({ price, quantity: 1 })),
  });
  const id = text(session, 'checkout_session_id');
  return make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', {
    ...{ payment_method: hsa, second_payment_method: credit },
  });
}

/** What each card paid of the invoices of a customer, by the first day of the period, without the first one. */
async function paidOf({ customer, hsa, credit }: Payer): Promise<unknown[]> {
  const cards = await eligo.database.admin<{ id: string; processor_id: string }>(
    'select id, processor_payment_method_id as processor_id from checkout.payment_methods where id = any($1)',
    [[hsa, credit]],
  );
  const nameOf = new Map(cards.map(({ id, processor_id }) => [processor_id, id === hsa ? 'health' : 'other']));
  const invoices = records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices').reverse();
  const charges = records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
  return invoices.slice(1).map(({ invoice_id: id, status, period_start }) => [
    `${String(period_start).slice(0, 10)} ${status}`,
    ...charges
      .filter(({ metadata }) => (metadata as Json).invoice === id)
      .map((one) => `${nameOf.get(text(one, 'payment_method'))} ${one.amount}`)
      .sort(),
  ]);
}

interface RenewedLine {
  readonly total: number;
  readonly eligible: number;
  readonly eligibility: string;
  readonly rule: string;
  readonly rule_version: string;
  readonly letter_id: string | null;
}

/** The lines of the invoices of a customer, without the first one, in the order of their periods. */
function renewedLines({ customer }: Payer): Promise<RenewedLine[]> {
  return eligo.database.admin<RenewedLine & Record<string, unknown>>(
    `select l.total_cents::int as total, l.eligible_cents::int as eligible, l.eligibility, l.rule, l.rule_version, l.letter_id
       from billing.invoice_lines l join billing.invoices i on i.id = l.invoice_id
      where i.customer_id = $1 and i.billing_reason = 'subscription_cycle' order by i.number, l.position`,
    [customer],
  );
}

async function lettersOf(payer: Payer): Promise<(string | null)[]> {
  return (await renewedLines(payer)).filter(({ total }) => total === 5_000).map(({ letter_id }) => letter_id);
}

/** The next version of the product-code list has this code alone. */
async function importCode(code: string, eligibility: string): Promise<void> {
  const file = join(folder, 'codes.csv');
  await writeFile(file, `code,hsa_fsa_eligibility\n${code},${eligibility}\n`);
  await runCli(eligo, ['product-codes', 'import', file], { CATALOG_DATABASE_URL: eligo.database.urlOf('catalog') });
}

describe('the subscription of a customer on a test clock', () => {
  it('tells what happens in a year that is advanced at once in the order of its times [D14.93]', async () => {
    const payer = await newPayer('2027-01-01T00:00:00Z');
    const massage = await newPrice({ hsa_fsa_eligibility: 'letter_of_medical_necessity' }, 5_000);
    const session = await sell(payer, 'subscription', [massage.price]);
    const asked = `/v1/letters?checkout_session=${session.checkout_session_id}`;
    const [letter] = records(await api.ok('GET', asked), 'letters');
    const letterId = text(letter as Json, 'letter_id');
    await api.ok('POST', `/v1/test_helpers/letters/${letterId}/approve`);
    await waitUntil(
      async () =>
        records((await api.get(`/v1/subscriptions?customer=${payer.customer}`)).body, 'subscriptions').length === 1,
      { what: 'the subscription' },
    );
    await advance(payer.clock, '2027-12-15T00:00:00Z');
    const told = async () => {
      const events = records(await api.ok('GET', '/v1/events?limit=100'), 'events').reverse();
      return events.flatMap(({ event_type: type, event_dt: at, object }) => {
        const { invoice, letter: one } = object as { invoice?: Json; letter?: Json };
        const isPaid = type === 'invoice.paid' && invoice?.customer === payer.customer;
        const isLetters = type === 'consultation.will_expire' && one?.letter_id === letterId;
        return isPaid || isLetters ? [`${new Date(Number(at) * 1_000).toISOString().slice(0, 10)} ${type}`] : [];
      });
    };
    await waitUntil(async () => (await told()).at(-1)?.endsWith('will_expire'), { what: 'consultation.will_expire' });
    const months = ['02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12'];
    expect((await told()).slice(1)).toEqual([
      ...months.map((month) => `2027-${month}-01 invoice.paid`),
      '2027-12-02 consultation.will_expire',
    ]);
  });

  it('renews on the health card while a letter is valid, on the other card after it, and on the health card again with a new letter [D14.142, D14.144]', async () => {
    const payer = await newPayer('2027-01-01T00:00:00Z');
    const [massage, towels] = [
      await newPrice({ hsa_fsa_eligibility: 'letter_of_medical_necessity' }, 5_000, 5),
      await newPrice({ hsa_fsa_eligibility: 'not_eligible' }, 700, 5),
    ];
    const letterOf = async (session: Json) => {
      expect(session).toMatchObject({ status: 'paid', next_action: { type: 'collect_letter_of_medical_necessity' } });
      const [letter] = records(
        await api.ok('GET', `/v1/letters?checkout_session=${session.checkout_session_id}`),
        'letters',
      );
      return text(letter as Json, 'letter_id');
    };
    const approve = async (letter: string) =>
      record(await api.ok('POST', `/v1/test_helpers/letters/${letter}/approve`), 'letter');
    const first = await letterOf(await sell(payer, 'subscription', [massage.price, towels.price]));
    expect(await approve(first)).toMatchObject({ status: 'approved', expires_at: '2028-01-01T00:00:00.000Z' });
    await waitUntil(
      async () =>
        records((await api.get(`/v1/subscriptions?customer=${payer.customer}`)).body, 'subscriptions').length === 1,
      { what: 'the subscription' },
    );
    const announced = async (letter: string) =>
      records(await api.ok('GET', '/v1/events?event_type=consultation.will_expire'), 'events').filter(
        ({ object }) => record(object as Json, 'letter').letter_id === letter,
      );
    await advance(payer.clock, '2027-12-01T23:59:59Z');
    expect(await announced(first)).toEqual([]);
    await advance(payer.clock, '2027-12-02T00:00:00Z');
    await waitUntil(async () => (await announced(first)).length === 1, { what: 'consultation.will_expire' });
    await advance(payer.clock, '2028-04-01T00:00:00Z');
    const second = await letterOf(await sell(payer, 'payment', [massage.price]));
    await approve(second);
    await advance(payer.clock, '2028-09-01T00:00:00Z');
    expect(await paidOf(payer)).toEqual([
      ['2027-06-01 paid', 'health 5000', 'other 700'],
      ['2027-11-01 paid', 'health 5000', 'other 700'],
      ['2028-04-01 paid', 'other 5700'],
      ['2028-09-01 paid', 'health 5000', 'other 700'],
    ]);
    expect(await lettersOf(payer)).toEqual([first, first, null, second]);
    expect(await announced(first)).toHaveLength(1);
  });

  it('has its products classified anew at each renewal, and each invoice keeps the class, the rule and its version [D14.90]', async () => {
    const payer = await newPayer('2027-01-01T00:00:00Z');
    const code = '036000291452';
    await importCode(code, 'auto_substantiation');
    const monitor = await newPrice({ hsa_fsa_eligibility: 'auto_substantiation' }, 3_000);
    const bandages = await newPrice({ upc_code: code }, 1_100);
    const towels = await newPrice({ hsa_fsa_eligibility: 'not_eligible' }, 700);
    await sell(payer, 'subscription', [monitor.price, bandages.price, towels.price]);
    const classify = async (ofMonitor: string, ofCode: string) => {
      await api.ok('PATCH', `/v1/products/${monitor.product}`, {
        body: { product: { hsa_fsa_eligibility: ofMonitor } },
      });
      await importCode(code, ofCode);
    };
    await advance(payer.clock, '2027-02-01T00:00:00Z');
    await classify('not_eligible', 'not_eligible');
    await advance(payer.clock, '2027-03-01T00:00:00Z');
    await classify('vision', 'auto_substantiation');
    await advance(payer.clock, '2027-04-01T00:00:00Z');
    expect(await paidOf(payer)).toEqual([
      ['2027-02-01 paid', 'health 4100', 'other 700'],
      ['2027-03-01 paid', 'other 4800'],
      ['2027-04-01 paid', 'health 4100', 'other 700'],
    ]);
    const linesOf = async (totalCents: number) =>
      (await renewedLines(payer))
        .filter((line) => line.total === totalCents)
        .map((line) => [line.eligibility, line.eligible, line.rule, line.rule_version]);
    expect(await linesOf(3_000)).toEqual([
      ['auto_substantiation', 3_000, 'product', ''],
      ['not_eligible', 0, 'product', ''],
      ['vision', 3_000, 'product', ''],
    ]);
    expect(await linesOf(1_100)).toEqual([
      ['auto_substantiation', 1_100, 'product_code_list', '1'],
      ['not_eligible', 0, 'product_code_list', '2'],
      ['auto_substantiation', 1_100, 'product_code_list', '3'],
    ]);
  });
});
