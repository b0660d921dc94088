import { randomUUID } from 'node:crypto';
import { checkLedger, checkProcessor, type Fault } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import { openProcessors, sandboxAccountOf } from '@eligo/processor';
import { waitUntil } from '@eligo/testkit';
import { booksAgree } from './books.ts';
import type { Random } from './chaos/random.ts';
import type { RunningShop } from './crashes/running-shop.ts';
import { type Json, record, records, text } from './records.ts';
import { newCustomer, newSession } from './shop.ts';

/** How a day ended: everything in cents. */
export interface DayOfMoney {
  readonly orders: number;
  /** Movements on the processor's balance, by the processor's type. */
  readonly movements: Readonly<Record<string, number>>;
  readonly allMovements: number;
  readonly fees: number;
  /** The balance that the sandbox says, that the ledger has, and that the day's report closes with: the same. */
  readonly sandboxBalance: number;
  readonly ledgerBalance: number;
  readonly reportBalance: number;
  /** What `eligo ledger check` finds, with each processor's own list. */
  readonly faults: readonly Fault[];
  readonly seconds: number;
}

/**
 * Sells, captures, refunds, disputes and pays out until the processor has moved so many amounts on its balance, and waits until the books are settled. `say` hears
 * how far it is.
 */
export async function dayOfMoney(
  shop: RunningShop,
  { movements, atOnce, random }: { movements: number; atOnce: number; random: Random },
  say: (text: string) => void,
): Promise<DayOfMoney> {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const { eligo } = shop;
  const counted = async () => {
    const [row] = await eligo.database.admin<{ n: number }>(
      'select count(*)::int as n from refunds.processor_transactions where account_id = $1 and test_mode',
      [eligo.account],
    );
    return row?.n ?? 0;
  };
  let orders = 0;
  let done = await counted();
  const buyer = async () => {
    while (done < movements || orders < flows.length) {
      const flow = flows[orders % flows.length];
      orders += 1;
      if (orders === flows.length || orders % 40 === 0) {
        done = await counted();
        await payOut(shop, orders % 160 === 0);
      }
      if (orders % 400 === 0) say(`${orders} orders, ${done} movements, ${seconds()} s`);
      await flow?.(shop, random);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, buyer));
  // Given back by the bank, so that the day ends with a balance.
  await payOut(shop, true);
  const database = openDatabase({ url: eligo.database.adminUrl, applicationName: 'day of money', max: 1 });
  const processors = openProcessors({ ELIGO_SANDBOX_URL: eligo.processor.url, ELIGO_SANDBOX_KEY: eligo.processor.key });
  try {
    let faults: Fault[] = [];
    const look = async () => {
      faults = [...(await checkLedger(database)), ...(await checkProcessor(database, processors)).faults];
      return faults.length === 0;
    };
    await waitUntil(look, { withinMs: 60_000 + movements * 30, what: 'books without a fault' }).catch(() => undefined);
    if (faults.length === 0) await booksAgree(eligo);
    const scope = { accountId: eligo.account, testMode: true };
    const balance = await processors.of(scope).retrieveBalance();
    const sums = await sumsOf(shop);
    return {
      ...{ orders, faults, seconds: seconds(), ...sums },
      sandboxBalance: balance.kind === 'found' ? balance.amountCents : Number.NaN,
    };
  } finally {
    processors.close();
    await database.close();
  }
}

async function sumsOf({ eligo, api }: RunningShop) {
  const { admin } = eligo.database;
  const types = await admin<{ type: string; n: number; fees: number }>(
    `select type, count(*)::int as n, sum(fee_cents)::int as fees from refunds.processor_transactions
      where account_id = $1 and test_mode group by 1 order by 1`,
    [eligo.account],
  );
  const [ledger] = await admin<{ cents: number }>(
    `select sum(p.amount_cents)::int as cents from refunds.ledger_postings p
       join refunds.ledger_transactions t on (t.account_id, t.test_mode, t.id) = (p.account_id, p.test_mode, p.transaction_id)
      where p.account_id = $1 and p.test_mode and p.ledger_account = 'processor_balance' and t.processor_account = $2`,
    [eligo.account, sandboxAccountOf({ accountId: eligo.account, testMode: true })],
  );
  // Midnight may have come meanwhile.
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const path = `/v1/reports/reconciliation?from=${dayOf(Date.now() - 86_400_000)}&to=${dayOf(Date.now())}`;
  const days = records((await api.ok('GET', path)).reconciliation as Json, 'days');
  return {
    movements: Object.fromEntries(types.map(({ type, n }) => [type, n])),
    allMovements: types.reduce((sum, { n }) => sum + n, 0),
    fees: types.reduce((sum, { fees }) => sum + fees, 0),
    ledgerBalance: ledger?.cents ?? Number.NaN,
    reportBalance: Number(days.at(-1)?.closing_balance),
  };
}

type Flow = (shop: RunningShop, random: Random) => Promise<void>;

// One after the other, so that a short day has each of them.
const flows: readonly Flow[] = [
  async (shop) => {
    await pay(shop, { payment_method: 'hsa', second_payment_method: 'credit' });
  },
  // Refunded to two cards: twice in part, by cents that divide badly, and then what remains.
  async (shop, random) => {
    const paid = await pay(shop, { payment_method: 'fsa', second_payment_method: 'debit' });
    await refund(shop, paid, { amount: random.between(1, 3_333) });
    await refund(shop, paid, { amount: random.between(1, 3_333) });
    await refund(shop, paid, {});
  },
  // Captured three times, the last time in part, and refunded in part.
  async (shop, random) => {
    const paid = await pay(
      shop,
      { payment_method: 'hsa', second_payment_method: 'credit' },
      { capture_method: 'manual' },
    );
    const path = `/v1/checkout/sessions/${paid}/capture`;
    await ask(shop, path, 'checkout_session', { amount: random.between(1, 3_000) });
    await ask(shop, path, 'checkout_session', { amount: random.between(1, 3_000) });
    await ask(shop, path, 'checkout_session', { amount: random.between(1, 3_000), final_capture: true });
    await refund(shop, paid, { amount: random.between(1, 3) });
  },
  // The bank refuses the refund: the processor takes it back from its balance and puts it there again.
  async (shop, random) => {
    const paid = await pay(shop, { payment_method: 'refund_fails' });
    await refund(shop, paid, { amount: random.between(1, 2_000) });
  },
  // A refund on its way that succeeds, and one that fails.
  async (shop, random) => {
    for (const verb of ['succeed', 'fail']) {
      const paid = await pay(shop, { payment_method: 'refund_pending' });
      const id = await refund(shop, paid, { amount: random.between(1, 2_000) });
      await ask(shop, `/v1/test_helpers/refunds/${id}/${verb}`, 'refund');
    }
  },
  // Returned by the banks after it had succeeded: on one card, and on both.
  async (shop, random) => {
    for (const cards of [{ payment_method: 'credit' }, { payment_method: 'hsa', second_payment_method: 'credit' }]) {
      const paid = await pay(shop, cards);
      const id = await refund(shop, paid, { amount: random.between(6_000, 9_000) });
      await ask(shop, `/v1/test_helpers/refunds/${id}/fail`, 'refund');
    }
  },
  (shop) => dispute(shop, { evidence: { uncategorized_text: 'winning_evidence' }, submit: true }),
  (shop) => dispute(shop, { evidence: { uncategorized_text: 'losing_evidence' }, submit: true }),
  (shop) => dispute(shop, undefined, { amount: 1_234 }),
  (shop) => dispute(shop, { evidence: { uncategorized_text: 'winning_evidence' }, submit: true }, { inquiry: true }),
  // One after a refund.
  async (shop, random) => {
    const session = await pay(shop, { payment_method: 'credit' });
    await refund(shop, session, { amount: random.between(1, 500) });
    const id = await disputeOf(shop, session, { amount: random.between(1, 5_000) });
    await ask(shop, `/v1/disputes/${id}/close`, 'dispute');
  },
];

// All of a cart is paid, by one card or by two.
async function pay({ api, shop, ...rest }: RunningShop, cards: Json, session: Json = {}): Promise<string> {
  const customer = await newCustomer(api);
  const made = await newSession(api, shop, { customer, ...session });
  const id = text(made, 'checkout_session_id');
  await ask({ api, shop, ...rest }, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', cards);
  return id;
}

async function refund(shop: RunningShop, session: string, fields: Json): Promise<string> {
  const refunded = await ask(shop, `/v1/checkout/sessions/${session}/refund`, 'checkout_session', fields);
  // Newest last.
  const id = (refunded.refunds as unknown[]).at(-1);
  return typeof id === 'string' ? id : text(id as Json, 'refund_id');
}

async function dispute(shop: RunningShop, answer: Json | undefined, fields: Json = {}): Promise<void> {
  const session = await pay(shop, { payment_method: 'credit' });
  const id = await disputeOf(shop, session, fields);
  if (answer !== undefined) await ask(shop, `/v1/disputes/${id}`, 'dispute', answer);
}

async function disputeOf(shop: RunningShop, session: string, fields: Json): Promise<string> {
  const [row] = await shop.eligo.database.admin<{ id: string }>(
    `select c.id from checkout.charges c join checkout.payment_intents i on i.id = c.payment_intent_id and i.account_id = c.account_id
      and i.test_mode = c.test_mode where i.account_id = $1 and i.test_mode and i.session_id = $2 and i.amount_received_cents > 0`,
    [shop.eligo.account, session],
  );
  return text(await ask(shop, '/v1/test_helpers/disputes', 'dispute', { charge: row?.id, ...fields }), 'dispute_id');
}

// A balance that disputes and refunds have emptied pays nothing out.
async function payOut({ api, eligo }: RunningShop, fails: boolean): Promise<void> {
  const made = await api.post('/v1/test_helpers/payouts', {}, { idempotencyKey: randomUUID() });
  if (made.status >= 400) return;
  if (!fails) return;
  const id = text(record(made.body, 'payout'), 'payout_id');
  const [row] = await eligo.database.admin<{ name: string }>(
    'select processor_payout_id as name from refunds.payouts where id = $1',
    [id],
  );
  if (row) await eligo.sandbox('POST', `/sandbox/payouts/${row.name}/fail`);
}

// What is under way in another request is waited for, as an integration does.
async function ask({ api }: RunningShop, path: string, envelope: string, fields?: Json): Promise<Json> {
  const idempotencyKey = randomUUID();
  for (let tries = 1; ; tries++) {
    const answer = await api.post(path, fields ? { [envelope]: fields } : {}, { idempotencyKey });
    if (answer.status < 300) return record(answer.body, envelope);
    // The answer of an earlier try was lost: the session was completed then.
    if (tries > 1 && answer.body.code === 'checkout_session_already_processed') return answer.body;
    const isUnderWay = answer.status === 503 || (answer.status === 409 && answer.body.code === 'lock_timeout');
    if (!isUnderWay || tries === 60) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
