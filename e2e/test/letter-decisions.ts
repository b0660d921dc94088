import { type Api, type Constellation, waitUntil } from '@eligo/testkit';
import { describe, expect, it } from 'vitest';
import { type Json, record, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, newCustomer } from '../src/shop.ts';

type Verb = 'approve' | 'deny';

/** Two processes of checkout, each with its own admin port: reviewers decide at both. */
export function describeLetterDecisions(started: () => Constellation): void {
  describe('a letter that two reviewers decide at once, each at another process', () => {
    it.each([
      ['approve', 'deny'],
      ['deny', 'approve'],
    ] as const)(
      'ends by the first decision (%s) alone, though its process dies before it asks the processor [D14.76, D14.79]',
      async (first, second) => {
        const eligo = started();
        const api = eligo.api();
        const { session, letter, customer } = await heldSession(api);
        const { credential } = await runCli(eligo, [
          'reviewers',
          'add',
          '--name',
          `Ann ${first}`,
          '--license',
          'NP 1',
          '--state',
          'CA',
        ]);
        const decide = (process: string, verb: Verb) =>
          runCli(eligo, ['letters', verb, letter], {
            ...{ ELIGO_CHECKOUT_ADMIN: eligo.adminOf(process), ELIGO_OPERATOR_KEY: eligo.operatorKey },
            ELIGO_REVIEWER_CREDENTIAL: String(credential),
          }).then(
            (review) => String(review.status),
            (error: Error) => error.message,
          );

        // The first one waits with the session in hand while the second one arrives, and dies once it has committed.
        await eligo.armFailpoint('checkout', 'letter.before_decision_commit', { action: 'pause' });
        await eligo.armFailpoint('checkout', 'letter.decided', { action: 'kill' });
        const decided = decide('checkout', first);
        await waitsAt(eligo, 'letter.before_decision_commit');
        const refused = decide('checkout-2', second);
        await waitUntil(() => waitsForLock(eligo), { withinMs: 20_000, everyMs: 20, what: 'the second decision' });
        await eligo.releaseFailpoint('checkout', 'letter.before_decision_commit');
        expect(await decided).not.toMatch(/^(?:approved|denied)$/);
        expect(await refused).toMatch(/no longer in review/);
        await eligo.recovered();

        // Asked again at both: one outcome, and the processor is asked for nothing else.
        const isApproved = first === 'approve';
        for (const process of ['checkout', 'checkout-2']) {
          expect(await decide(process, second)).toMatch(/no longer in review/);
        }
        const read = async () => record(await api.ok('GET', `/v1/checkout/sessions/${session}`), 'checkout_session');
        await waitUntil(async () => (await read()).status === (isApproved ? 'complete' : 'canceled'), {
          withinMs: 60_000,
          what: 'the end of the session',
        });
        expect(await read()).toMatchObject({ amount_received: isApproved ? 24_900 : 0, amount_refunded: 0 });
        await waitUntil(async () => (await atProcessor(eligo, session)).every((one) => one.isOver), {
          withinMs: 60_000,
          what: 'the end of both holds',
        });
        expect((await atProcessor(eligo, session)).map(({ taken }) => taken)).toEqual(
          isApproved ? [5_000, 19_900] : [0, 0],
        );
        expect(record(await api.ok('GET', `/v1/letters/${letter}`), 'letter').status).toBe(
          isApproved ? 'approved' : 'denied',
        );
        const eventsOfLetter = async () =>
          records(await api.ok('GET', '/v1/events?limit=100'), 'events')
            .filter(({ object }) => JSON.stringify(object).includes(letter))
            .map(({ event_type }) => event_type);
        await waitUntil(async () => (await eventsOfLetter()).length > 0, { withinMs: 60_000, what: 'the event' });
        expect(await eventsOfLetter()).toEqual([isApproved ? 'consultation.approved' : 'consultation.denied']);
        expect(customer).toMatch(/^fcus_/);
      },
      180_000,
    );
  });
}

/** 199.00 that needs a letter on the health card, and 50.00 on the other one: both held. */
async function heldSession(api: Api): Promise<{ session: string; letter: string; customer: string }> {
  const gun = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
  const [product, customer] = await Promise.all([make(api, '/v1/products', 'product', gun), newCustomer(api)]);
  const prices = await Promise.all([
    make(api, '/v1/prices', 'price', { product: text(product, 'product_id'), unit_amount: 19_900 }),
    make(api, '/v1/prices', 'price', {
      unit_amount: 5_000,
      product_data: { name: 'Bath towel', hsa_fsa_eligibility: 'not_eligible' },
    }),
  ]);
  const made = await make(api, '/v1/checkout/sessions', 'checkout_session', {
    line_items: prices.map((price) => ({ price: text(price, 'price_id'), quantity: 1 })),
    ...{ customer, success_url: 'https://shop.example/done' },
  });
  const session = text(made, 'checkout_session_id');
  const paid = await make(api, `/v1/test_helpers/checkout/sessions/${session}/complete`, 'checkout_session', {
    ...{ payment_method: 'hsa', second_payment_method: 'credit' },
  });
  expect(paid).toMatchObject({ status: 'paid', amount_received: 0 });
  const [letter] = records(await api.ok('GET', `/v1/letters?checkout_session=${session}`), 'letters');
  return { session, letter: text(letter as Json, 'letter_id'), customer };
}

/** What was taken of each hold of a session, the smaller first, and whether anything of it is still held. */
async function atProcessor(eligo: Constellation, session: string): Promise<{ taken: number; isOver: boolean }[]> {
  const charges = records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
  return charges
    .filter((charge) => (charge.metadata as Json).session === session)
    .toSorted((one, other) => Number(one.amount) - Number(other.amount))
    .map((charge) => ({
      taken: Number(charge.amount_captured),
      isOver: charge.released === true || charge.amount_captured === charge.amount,
    }));
}

async function waitsAt(eligo: Constellation, failpoint: string): Promise<void> {
  const url = new URL('/failpoints/', eligo.adminOf('checkout'));
  const isThere = async () => {
    const all = (await (await fetch(url)).json()) as { name: string; waiting: number }[];
    return all.some(({ name, waiting }) => name === failpoint && waiting > 0);
  };
  await waitUntil(isThere, { withinMs: 30_000, what: `a step at ${failpoint}` });
}

// The second decision is in its transaction, at the row of the session that the first one holds.
async function waitsForLock(eligo: Constellation): Promise<boolean> {
  const rows = await eligo.database.admin<{ waits: boolean }>(
    `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waits`,
  );
  return rows[0]?.waits === true;
}
