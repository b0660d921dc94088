import { type ApiAnswer, waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, records, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';
import { recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';
import type { SetUpCrash, SetUpWay } from './set-up-crashes.ts';
import { unlessBroken } from './unless-broken.ts';

/** A trial whose card is set up. */
interface Trial {
  readonly clock: string;
  readonly customer: string;
  /** The card that it is created with, if any. */
  readonly card: string | undefined;
  readonly fields: Json;
  readonly key: string;
}

/** What only a fault makes due soon; the job looks for itself within 15 s. */
const patience = { withinMs: 60_000, everyMs: 200 };
const clocks = '/v1/test_helpers/test_clocks';
const ends: Readonly<Record<SetUpWay, 'saved' | 'canceled'>> = {
  ...{ plain: 'saved', asked: 'saved', given: 'saved', learned: 'saved', canceled: 'canceled', over: 'canceled' },
};

/**
 * Sells a trial whose card is set up, has a process die there, or the processor's answer be lost, and holds what becomes of it against the model: the processor has
 * one set-up intent, which is over; the subscription has the card that was set up, or none; the set-up and its events are there once.
 */
export async function runSetUpCrash(running: RunningShop, crash: SetUpCrash): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const trial = await newTrial(running, crash.way);
  const { begins, step } = stepsOf(running, trial, crash.way);
  // A failpoint of the creation is armed before it, and any other one after it.
  if (!isOfCreation(crash)) await begins();
  const isJobHeld = crash.way === 'learned';
  if (isJobHeld) await eligo.armFailpoint('checkout', 'card_set_up.claimed', { action: 'pause' });
  if (crash.fault !== undefined) await eligo.sandbox('POST', '/sandbox/faults', { fault: crash.fault });
  if (crash.failpoint === undefined) {
    if (isOfCreation(crash)) await begins();
    await step();
  } else {
    await eligo.armFailpoint(crash.component, crash.failpoint, { action: 'kill' });
    const going = isOfCreation(crash) ? create(running, trial) : step();
    await Promise.all([Promise.allSettled([going]), recovered(running, crash.failpoint)]);
    if (isOfCreation(crash)) {
      await begins();
      await step();
    }
  }
  await stands(running, trial, crash.way);
}

const creation = new Set([
  ...['customer.made', 'subscription.written', 'set_up_outcome.asked', 'card_set_up.before_begin_commit'],
  ...['card_set_up.begun', 'card_set_up.intent_created', 'card_set_up.intent_named', 'card_set_up.confirmed'],
  ...['card_set_up.before_wait_commit', 'card_set_up.waits', 'setup_intents.create', 'setup_intents.confirm'],
]);

function isOfCreation({ way, failpoint, fault }: SetUpCrash): boolean {
  return way === 'plain' || creation.has(failpoint ?? fault?.call ?? '');
}

async function newTrial({ api, shop }: RunningShop, way: SetUpWay): Promise<Trial> {
  const clock = text(await make(api, clocks, 'test_clock', { frozen_time: '2030-01-31T00:00:00Z' }), 'test_clock_id');
  const customer = await newCustomer(api, { test_clock: clock });
  const cards: Partial<Record<SetUpWay, string>> = { plain: 'credit', asked: 'authentication_required' };
  const name = cards[way];
  const card = name === undefined ? undefined : await newCard(api, customer, name);
  const price = await make(api, '/v1/prices', 'price', {
    ...{ product: shop.eligibleProductId, unit_amount: 2_000, recurring: { interval: 'month' } },
  });
  const fields = {
    ...{ customer, items: [{ price: text(price, 'price_id'), quantity: 1 }], trial_period_days: 14 },
    ...(card === undefined ? {} : { default_payment_method: card }),
    trial_settings: { end_behavior: { missing_payment_method: 'cancel' } },
  };
  return { clock, customer, card, fields, key: `set-up-${customer}` };
}

// One request, whose connection may break.
function create({ api }: RunningShop, { fields, key }: Trial): Promise<ApiAnswer | undefined> {
  return unlessBroken(() => api.post('/v1/subscriptions', { subscription: fields }, { idempotencyKey: key }));
}

function stepsOf(running: RunningShop, trial: Trial, way: SetUpWay) {
  const { api, eligo } = running;
  let made: Json = {};
  // As a client does that did not hear the secret: the same key reads it.
  const begins = async () => {
    made = await waitUntil(
      async () => {
        const answer = await create(running, trial);
        if (answer === undefined || answer.status === 503 || answer.status === 409) return false;
        if (answer.status >= 300) throw new Error(`a trial was answered ${answer.status} ${answer.text}`);
        const subscription = record(answer.body, 'subscription');
        return (way === 'plain' || subscription.client_secret !== null) && subscription;
      },
      { ...patience, what: 'the secret of a set-up' },
    );
  };
  const secret = () => text(record(made, 'client_secret'), 'setup_secret');
  const gives = () => giveCard(running, secret());
  const advance = async () => {
    const over = { test_clock: { frozen_time: '2030-02-14T00:00:01Z' } };
    await api.post(`${clocks}/${trial.clock}/advance`, over);
  };
  const steps: Record<SetUpWay, () => Promise<unknown>> = {
    plain: async () => undefined,
    asked: () =>
      eligo.sandbox('POST', `/sandbox/authentications/${secret().split('_secret_')[0]}`, { outcome: 'success' }),
    given: gives,
    learned: async () => {
      await gives();
      await advance();
    },
    canceled: () => api.ok('DELETE', `/v1/subscriptions/${text(made, 'subscription_id')}`, {}),
    over: advance,
  };
  return { begins, step: steps[way] };
}

async function giveCard({ eligo }: RunningShop, secret: string): Promise<void> {
  const { url: origin } = eligo.processor;
  const reply = await fetch(`${origin}/fields/set_ups`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', origin } },
    body: JSON.stringify({ client_secret: secret, payment_method: 'pm_card_visa' }),
  });
  const { status } = (await reply.json()) as { status?: string };
  if (status !== 'succeeded') throw new Error(`the card fields answered ${reply.status} ${status}`);
}

async function stands(running: RunningShop, { customer, card }: Trial, way: SetUpWay): Promise<void> {
  const { api, eligo } = running;
  const end = ends[way];
  const read = async () => {
    const [subscription, ...others] = records(
      (await api.get(`/v1/subscriptions?customer=${customer}`)).body,
      'subscriptions',
    );
    if (subscription === undefined || others.length > 0) throw new Error('the trial is not there once');
    return subscription;
  };
  const statuses: Record<SetUpWay, string> = {
    ...{ plain: 'trialing', asked: 'trialing', given: 'trialing', learned: 'active' },
    ...{ canceled: 'canceled', over: 'canceled' },
  };
  const told = async (id: string) => {
    const [row] = await eligo.database.admin<Told>(eventsOf, [id]);
    return row;
  };
  const wanted = { saves: way === 'plain' || end === 'canceled' ? 0 : 1, status: end };
  // The last that happens: billing has recorded the card, and checkout has ended the set-up.
  let seen: Told | undefined;
  try {
    await waitUntil(
      async () => {
        const subscription = await read();
        seen = await told(text(subscription, 'subscription_id'));
        const hasCard = (subscription.default_payment_method !== null) === (end === 'saved');
        return (
          subscription.status === statuses[way] && hasCard && seen?.status === end && seen.records === wanted.saves
        );
      },
      { ...patience, what: 'the end of a set-up' },
    );
  } catch (error) {
    throw new Error(`the set-up is ${JSON.stringify(seen)}, the trial ${JSON.stringify(await read())}`, {
      cause: error,
    });
  }
  await booksAgree(eligo);
  const subscription = await read();
  const after = await told(text(subscription, 'subscription_id'));
  const events = `${after?.saves} commands, ${after?.updates} updates`;
  // The renewal of a trial that is paid tells of the subscription, too.
  const updates = wanted.saves + (way === 'learned' ? 1 : 0);
  if (events !== `${wanted.saves} commands, ${updates} updates`) throw new Error(`${way}: ${events}`);
  await expectAtProcessor(running, customer, end === 'saved' ? 'succeeded' : 'canceled');
  const saved = records((await api.get(`/v1/customers/${customer}/payment_methods`)).body, 'payment_methods');
  const cards = saved.map(({ payment_method_id: id }) => id).join();
  const expected = end === 'canceled' ? '' : subscription.default_payment_method;
  if (cards !== expected || (card !== undefined && cards !== card)) throw new Error(`the customer has ${cards}`);
}

interface Told {
  readonly status: string;
  readonly saves: number;
  readonly records: number;
  readonly updates: number;
}

const eventsOf = `select s.status,
  (select count(*)::int from checkout.outbox o where o.aggregate_id = s.setup_intent_id and o.type = 'command.card.set_up') as saves,
  (select count(*)::int from billing.subscriptions b where b.id = s.subscription_id and b.set_up_recorded_at is not null) as records,
  (select count(*)::int from billing.outbox o where o.aggregate_id = s.subscription_id and o.type = 'customer.subscription.updated') as updates
  from checkout.subscription_set_ups s where s.subscription_id = $1`;

// One set-up intent of the customer, there and here, with this status.
async function expectAtProcessor({ api, eligo }: RunningShop, customer: string, status: string): Promise<void> {
  const [owner] = await eligo.database.admin<{ id: string; account: string }>(
    'select processor_customer_id as id, processor_account as account from checkout.customers where id = $1',
    [customer],
  );
  const { url, key } = eligo.processor;
  const answer = await fetch(`${url}/v1/setup_intents?limit=100&customer=${owner?.id}`, {
    headers: { authorization: `Bearer ${key}`, 'stripe-account': owner?.account ?? '' },
  });
  const there = records((await answer.json()) as Json, 'data');
  const here = records((await api.get(`/v1/setup_intents?customer=${customer}`)).body, 'setup_intents');
  const seen = [there, here].map((all) => all.map((one) => one.status).join(' and ')).join(', ');
  if (seen !== `${status}, ${status}`) throw new Error(`the set-up intents there and here are ${seen}, not ${status}`);
}
