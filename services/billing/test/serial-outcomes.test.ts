import { fromBinary } from '@bufbuild/protobuf';
import { type Scope, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause } from '../src/actions/pause-and-resume.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import type { Context } from '../src/context.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { saveRenewalSpread } from '../src/store/renewal-settings.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';

let on: Fixture;
let other: Context;

beforeAll(async () => {
  on = await openFixture();
  other = on.another();
});
afterAll(() => on.close());

const justBefore = '2026-04-30T23:59:59.999Z';
const may = '2026-05-01T00:00:00.000Z';
const soonAfter = '2026-05-01T00:02:00.000Z';

/** A subscription whose renewal is due, and a card that pays. */
interface Due {
  readonly scope: Scope;
  readonly id: string;
  readonly card: string;
  readonly fresh: string;
}

type CallName = 'renew' | 'update' | 'items' | 'pause' | 'pay' | 'cancel';

const calls: Readonly<Record<CallName, (of: Due, context: Context) => Promise<unknown>>> = {
  renew: (_of, context) => runDueSubscriptions(context),
  update: ({ scope, id, fresh }, context) =>
    updateSubscription(context, callOf(scope), id, {
      ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
      ...{ defaultPaymentMethodId: fresh, metadata: { plan: 'gold' } },
    }),
  items: ({ scope, id }, context) =>
    updateSubscription(context, callOf(scope), id, {
      ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
      ...{ items: [{ priceId: on.peers.price({ unitAmountCents: 9_000 }), quantity: 1 }] },
      prorationBehavior: 'always_invoice',
    }),
  pause: ({ scope, id }, context) => pause(context, callOf(scope), id),
  async pay({ scope, id }, context) {
    const subscription = await findSubscription(on.database, scope, id);
    await payInvoice(context, callOf(scope), subscription?.latestInvoiceId ?? '', undefined);
  },
  cancel: ({ scope, id }, context) =>
    cancelSubscription(context, scope, id, { atPeriodEnd: false, refund: 'full', refundAmountCents: null }),
};

async function due(declines: boolean): Promise<Due> {
  on.at(start);
  const scope = someScope();
  const { subscriptionId: id, customerId, card } = await sell(on, scope);
  on.at(may);
  if (declines) on.peers.behave(card, 'insufficient_funds');
  return { scope, id, card, fresh: on.peers.cardOf(customerId, true) };
}

/** Whether a call took effect: one that is refused changes nothing, but for a card that says no. */
async function tookEffect(made: Promise<unknown>): Promise<boolean> {
  return made.then(
    () => true,
    (error: { code?: string }) => {
      if (error.code === undefined) throw error;
      return error.code === 'card_declined';
    },
  );
}

/** All that is left of it once what is due is done: the status, what it was billed, what each card paid, and what is to be refunded. */
async function outcomeOf({ scope, id, fresh }: Due): Promise<string> {
  on.at(soonAfter);
  while (await runDueSubscriptions(on.context));
  const subscription = await findSubscription(on.database, scope, id);
  const invoices = await on.test.admin<{ id: string; status: string; total_cents: bigint; attempts: number }>(
    'select id, status, total_cents, attempts from billing.invoices where subscription_id = $1 order by number',
    [id],
  );
  const refunds = await on.test.admin<{ payload: Buffer }>(
    "select payload from billing.outbox where aggregate_id = $1 and type = 'command.refund' order by event_id",
    [id],
  );
  const byCard = (invoiceId: string) =>
    on.peers.taken
      .filter((one) => one.invoiceId === invoiceId)
      .map((one) => `${one.paymentMethodId === fresh ? 'fresh' : 'old'} ${one.amountCents}`);
  return JSON.stringify({
    status: subscription?.status,
    plan: subscription?.metadata.plan,
    isFresh: subscription?.defaultPaymentMethodId === fresh,
    invoices: invoices.map((one) => [one.status, Number(one.total_cents), one.attempts, byCard(one.id)]),
    refunds: refunds.map(({ payload }) => {
      const { object } = fromBinary(EventSchema, payload);
      return object.case === 'refundRequested' ? Number(object.value.amountCents) : null;
    }),
  });
}

function* orders(names: readonly CallName[]): Generator<readonly CallName[]> {
  if (names.length === 0) yield [];
  for (const [at, first] of names.entries()) {
    for (const rest of orders(names.toSpliced(at, 1))) yield [first, ...rest];
  }
}

// By whether the card declines and which calls took effect.
const known = new Map<string, Set<string>>();

/**
 * What these calls come to one after the other, in every order until one comes to the outcome. Those before the renewal are made a moment before it is due, or when
 * it is, which has them renew first. Two calls are two steps each. A renewal, which an account can spread over a minute: its period begins with an open invoice, which
 * is then charged. And an update: it is saved, and then its card pays what is owed.
 */
async function serialOutcomes(declines: boolean, names: readonly CallName[], outcome: string): Promise<Set<string>> {
  const name = `${declines} ${names.join(' ')}`;
  const outcomes = known.get(name) ?? new Set<string>();
  known.set(name, outcomes);
  for (const order of orders(names)) {
    for (const time of [justBefore, may]) {
      for (const spreads of [false, true]) {
        for (const parts of [false, true]) {
          if (outcomes.has(outcome)) return outcomes;
          const of = await due(declines);
          if (spreads) await withTx(on.database, of.scope, (tx) => saveRenewalSpread(tx, of.scope, 1));
          const renewsAt = order.indexOf('renew');
          await makeInTurn(
            of,
            order.map((call, at) => ({ call, time: at < renewsAt ? time : may })),
            parts,
          );
          outcomes.add(await outcomeOf(of));
        }
      }
    }
  }
  return outcomes;
}

/** Makes calls one after the other or, with `parts`, those after an update between its two steps. */
async function makeInTurn(
  of: Due,
  [first, ...others]: readonly { readonly call: CallName; readonly time: string }[],
  parts: boolean,
): Promise<void> {
  if (first === undefined) return;
  let rest: Promise<void> | undefined;
  const makeRest = () => {
    rest ??= makeInTurn(of, others, parts);
    return rest;
  };
  const context = {
    ...on.context,
    failpoint: async (name: string) => {
      if (parts && name === 'subscription.changed') await makeRest();
    },
  };
  on.at(first.time);
  await tookEffect(calls[first.call](of, context));
  await makeRest();
}

describe('calls at once on one subscription whose renewal is due', () => {
  const sets: readonly (readonly CallName[])[] = [
    ['renew', 'update', 'pause', 'pay'],
    ['renew', 'update', 'pay', 'cancel'],
    ['renew', 'items', 'pause', 'pay'],
    ['renew', 'items', 'update', 'cancel'],
  ];
  const cases = sets.flatMap((names) => [false, true].map((declines) => ({ names, declines })));
  it.each(cases)(
    'come to what those that were not refused can come to one after the other: $names, of a card that declines: $declines [D14.262]',
    async ({ names, declines }) => {
      for (let round = 0; round < 6; round++) {
        const of = await due(declines);
        // By two instances, each of which renews, and in another order each time.
        const order = names.map((_, at) => names[(at + round) % names.length] ?? 'renew');
        const made = [...order, 'renew' as const].map((call, at) => ({
          call,
          effect: tookEffect(calls[call](of, at % 2 === 0 ? on.context : other)),
        }));
        const effects = await Promise.all(made.map(({ effect }) => effect));
        // A renewal that another call was before is made in the end.
        const effective = names.filter((name) => name === 'renew' || effects[order.indexOf(name)]);
        const outcome = await outcomeOf(of);
        const outcomes = await serialOutcomes(declines, effective, outcome);
        expect(
          [...outcomes].includes(outcome),
          `${outcome} of ${[...outcomes].join('  OR  ')} round ${round}: ${effective.join(', ')}`,
        ).toBe(true);
      }
    },
    120_000,
  );
});
