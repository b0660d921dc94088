import { type ApiAnswer, waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, records, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';
import { recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';
import { unlessBroken } from './unless-broken.ts';
import { untilAnswered } from './until-answered.ts';

/** How the present period was paid: the session asks for one refund of both cards, two payments of an invoice for one refund each. */
type Paid = 'with its session' | 'with its invoice';

/** A place at which a process dies while a subscription is canceled with a full refund. */
export interface CancellationCrash {
  readonly name: string;
  readonly component: 'billing' | 'refunds';
  readonly failpoint: string;
  /** How many passes go through first: those of the first card. */
  readonly skip: number;
  readonly paid: Paid;
}

const ofBilling = [
  ['canceled, not committed', 'cancellation.before_commit'],
  ['canceled, not answered', 'cancellation.committed'],
] as const;
const ofRequest = [
  ['asked for', 'refund.after_request'],
  ['reserved at checkout', 'refund.after_reserve'],
  ['pending', 'refund.after_pending'],
] as const;
const ofCard = [
  ['the fence passed', 'refund.after_fence'],
  ['given back, not recorded', 'refund.after_call'],
  ['recorded', 'refund.after_settle'],
] as const;

const at = (
  component: CancellationCrash['component'],
  places: readonly (readonly [string, string])[],
  paid: Paid,
  skip = 0,
): CancellationCrash[] => places.map(([name, failpoint]) => ({ name, component, failpoint, skip, paid }));

/** Every named place of a cancellation and of the refunds that it asks for, at each card. */
export const cancellationCrashes: readonly CancellationCrash[] = (
  ['with its session', 'with its invoice'] as const
).flatMap((paid) => [
  ...at('billing', ofBilling, paid),
  ...at('refunds', [...ofRequest, ...ofCard], paid),
  ...at('refunds', paid === 'with its session' ? ofCard : [...ofRequest, ...ofCard], paid, 1),
]);

const healthCents = 1_900;
const otherCents = 700;

/**
 * Cancels a subscription with a full refund of what two cards paid, has a process die there, and holds what becomes of it against the model: the subscription is canceled,
 * each card has all of its money back by one refund, and the same request again gives back nothing.
 */
export async function runCancellationCrash(running: RunningShop, crash: CancellationCrash): Promise<void> {
  const { api, eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const sold = await sell(running, crash.paid);
  await booksAgree(eligo);
  const path = `/v1/subscriptions/${sold.id}`;
  const cancel = () => unlessBroken(() => api.delete(path, { subscription: { refund: 'full' } }));
  await eligo.armFailpoint(crash.component, crash.failpoint, { action: 'kill', skip: crash.skip });
  await Promise.all([cancel(), recovered(running, crash.failpoint)]);
  // The client got no answer and asks again.
  const again = await untilAnswered<ApiAnswer>(cancel, { what: 'an answer to the cancellation', withinMs: 40_000 });
  const isUncommitted = crash.failpoint === 'cancellation.before_commit';
  if (again.status !== (isUncommitted ? 200 : 409)) {
    throw new Error(`the cancellation was answered ${again.status} ${again.text} the second time`);
  }
  await waitUntil(async () => (await refundedOf(running, sold)).length >= 2, {
    ...{ withinMs: 60_000, everyMs: 200, what: 'the refunds at the processor' },
  });
  await booksAgree(eligo);
  await stands(running, sold);
  // A late retry changes nothing.
  const late = await untilAnswered<ApiAnswer>(cancel, { what: 'an answer that comes late', withinMs: 40_000 });
  if (late.status !== 409) throw new Error(`a canceled subscription was answered ${late.status} ${late.text}`);
  await booksAgree(eligo);
  await stands(running, sold);
}

interface Sold {
  readonly id: string;
  readonly customer: string;
  /** What the metadata of its charges at the processor says. */
  readonly of: { readonly key: 'session' | 'invoice'; readonly value: string };
}

async function sell(running: RunningShop, paid: Paid): Promise<Sold> {
  const { api, shop } = running;
  const customer = await newCustomer(api);
  const monthly = { recurring: { interval: 'month' } };
  const prices = [
    await make(api, '/v1/prices', 'price', { ...monthly, product: shop.eligibleProductId, unit_amount: healthCents }),
    await make(api, '/v1/prices', 'price', {
      ...{ ...monthly, unit_amount: otherCents, product_data: { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' } },
    }),
  ];
  const items = prices.map((price) => ({ price: text(price, 'price_id'), quantity: 1 }));
  const [hsa, credit] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
  return paid === 'with its session'
    ? sellBySession(running, customer, items, { payment_method: hsa, second_payment_method: credit })
    : sellByApi(running, customer, items, { default_payment_method: hsa, backup_payment_method: credit });
}

async function sellBySession({ api }: RunningShop, customer: string, line_items: Json[], cards: Json): Promise<Sold> {
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
    ...{ mode: 'subscription', customer, line_items, success_url: 'https://shop.example/done' },
  });
  const value = text(session, 'checkout_session_id');
  const path = `/v1/test_helpers/checkout/sessions/${value}/complete`;
  const read = () => api.ok('GET', `/v1/checkout/sessions/${value}`);
  await untilAnswered(() => unlessBroken(() => api.post(path, { checkout_session: cards })), {
    ...{ what: 'an answer to the payment', withinMs: 40_000 },
  });
  const isActive = async () => {
    const { subscription } = record(await read(), 'checkout_session');
    return typeof subscription === 'string' && (await isThere(api, subscription)) && subscription;
  };
  const id = await waitUntil(isActive, { withinMs: 40_000, everyMs: 200, what: 'the subscription of a session' });
  return { id, customer, of: { key: 'session', value } };
}

async function sellByApi({ api }: RunningShop, customer: string, items: Json[], cards: Json): Promise<Sold> {
  const body = { subscription: { customer, items, ...cards } };
  const idempotencyKey = `subscribe-${customer}`;
  const answer = await untilAnswered<ApiAnswer>(
    () => unlessBroken(() => api.post('/v1/subscriptions', body, { idempotencyKey })),
    { what: 'an answer to the subscription', withinMs: 40_000 },
  );
  if (answer.status !== 200) throw new Error(`a subscription was answered ${answer.status} ${answer.text}`);
  const made = record(answer.body, 'subscription');
  const id = text(made, 'subscription_id');
  await waitUntil(() => isThere(api, id), { withinMs: 60_000, everyMs: 200, what: 'the first payments' });
  return { id, customer, of: { key: 'invoice', value: text(made, 'latest_invoice') } };
}

async function isThere(api: RunningShop['api'], id: string): Promise<boolean> {
  const answer = await api.get(`/v1/subscriptions/${id}`);
  return answer.status === 200 && record(answer.body, 'subscription').status === 'active';
}

async function chargesOf({ eligo }: RunningShop, { of }: Sold): Promise<Json[]> {
  const all = records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
  return all.filter(({ metadata, status }) => status === 'succeeded' && (metadata as Json)[of.key] === of.value);
}

/** The refunds of its charges at the processor, each the amount of the charge and its own. */
async function refundedOf(running: RunningShop, sold: Sold): Promise<string[]> {
  const charges = await chargesOf(running, sold);
  const refunds = records(await running.eligo.sandbox('GET', '/sandbox/refunds'), 'data');
  return refunds
    .flatMap(({ charge, amount, status }) => {
      const of = charges.find(({ id }) => id === charge);
      return of === undefined ? [] : [`${of.amount}: ${amount} ${status}`];
    })
    .toSorted();
}

async function stands(running: RunningShop, sold: Sold): Promise<void> {
  const { api } = running;
  const { status } = record(await api.ok('GET', `/v1/subscriptions/${sold.id}`), 'subscription');
  const [invoice] = records(await api.ok('GET', `/v1/invoices?customer=${sold.customer}`), 'invoices');
  const events = records(
    await api.ok('GET', '/v1/events?event_type=customer.subscription.deleted&limit=100'),
    'events',
  );
  const told = events.filter(({ object }) => {
    const { subscription } = object as { subscription?: Json };
    return subscription?.subscription_id === sold.id;
  });
  const seen = `${status}, invoice ${invoice?.status}, told ${told.length}, ${(await refundedOf(running, sold)).join(', ')}`;
  const model = `canceled, invoice paid, told 1, ${healthCents}: ${healthCents} succeeded, ${otherCents}: ${otherCents} succeeded`;
  if (seen !== model) throw new Error(`it is ${seen}; the model is ${model}`);
}
