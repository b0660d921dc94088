import { type Scope, withTx } from '@eligo/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Context } from '../src/context.ts';
import type { Cancellation } from '../src/domain/cancellation.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { pendingProrations } from '../src/store/prorations.ts';
import { saveRenewalSpread } from '../src/store/renewal-settings.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn } from './subscription-calls.ts';

let on: Fixture;
let other: Context;

beforeAll(async () => {
  on = await openFixture();
  other = on.another();
});
afterAll(() => on.close());

const may = '2026-05-01T00:00:00.000Z';

/** How a subscription stands when it is called. */
type Standing = 'whose renewal is due' | 'whose retry is due' | 'that is paused' | 'in the middle of a period';

/** What its card does when it is charged then. */
type Card = 'pays' | 'is declined';

/** When it is called. */
const calledAt: Readonly<Record<Standing, Date>> = {
  'whose renewal is due': new Date(may),
  'whose retry is due': new Date('2026-05-02T00:00:00.000Z'),
  'that is paused': new Date(may),
  'in the middle of a period': new Date('2026-04-16T00:00:00.000Z'),
};

/** A subscription, its card, and cards that pay: two of the customer, and one that is typed on the page. */
interface Called {
  readonly standing: Standing;
  readonly scope: Scope;
  readonly id: string;
  readonly card: string;
  readonly fresh: string;
  readonly backup: string;
  readonly typed: string;
}

const unchanged = { discount: { couponId: null, promoCode: null }, clearsDiscounts: false };
const cancellation: Cancellation = { atPeriodEnd: false, refund: 'none', refundAmountCents: null };

const calls = {
  renew: (_of, context) => runDueSubscriptions(context),
  update: ({ scope, id, fresh }, context) =>
    updateSubscription(context, callOf(scope), id, {
      ...{ ...unchanged, defaultPaymentMethodId: fresh, metadata: { plan: 'gold' } },
    }),
  backup: ({ scope, id, backup }, context) =>
    updateSubscription(context, callOf(scope), id, { ...unchanged, backupPaymentMethodId: backup }),
  'end with the period': ({ scope, id }, context) =>
    updateSubscription(context, callOf(scope), id, { ...unchanged, cancelAtPeriodEnd: true }),
  items: ({ scope, id }, context) =>
    updateSubscription(context, callOf(scope), id, {
      ...{ ...unchanged, items: [{ priceId: on.peers.price({ unitAmountCents: 9_000 }), quantity: 1 }] },
      prorationBehavior: 'always_invoice',
    }),
  pause: ({ scope, id }, context) => pause(context, callOf(scope), id),
  resume: ({ scope, id }, context) => resume(context, callOf(scope), id, false),
  pay: async (of, context) => payInvoice(context, callOf(of.scope), await latestOf(of), undefined),
  page: async (of, context) =>
    payInvoiceOnPage(context, callOf(of.scope), await latestOf(of), [
      { processorPaymentMethodId: of.typed, slot: 'health' },
    ]),
  void: async (of, context) => voidInvoice(context, callOf(of.scope), await latestOf(of)),
  'new number': ({ scope, card }, context) => {
    on.peers.behave(card, 'pays');
    return withTx(context.database, scope, (tx) => retryWithUpdatedCard(context, tx, scope, card));
  },
  cancel: ({ scope, id }, context) => cancelSubscription(context, scope, id, { ...cancellation, refund: 'full' }),
  'cancel later': ({ scope, id }, context) =>
    cancelSubscription(context, scope, id, { ...cancellation, atPeriodEnd: true }),
} satisfies Readonly<Record<string, (of: Called, context: Context) => Promise<unknown>>>;

type CallName = keyof typeof calls;

async function latestOf({ scope, id }: Called): Promise<string> {
  return (await findSubscription(on.database, scope, id))?.latestInvoiceId ?? '';
}

async function bring(standing: Standing, cardThen: Card): Promise<Called> {
  on.at(start);
  const scope = someScope();
  const { subscriptionId: id, customerId, card } = await sell(on, scope);
  if (standing === 'that is paused') await pause(on.context, callOf(scope), id);
  if (standing === 'whose retry is due') {
    on.peers.behave(card, 'insufficient_funds');
    on.at(may);
    while (await runDueSubscriptions(on.context));
  }
  on.peers.behave(card, cardThen === 'pays' ? 'pays' : 'insufficient_funds');
  on.at(calledAt[standing]);
  const [fresh, backup] = [on.peers.cardOf(customerId, true), on.peers.cardOf(customerId, false)];
  return { standing, scope, id, card, fresh, backup, typed: on.peers.typed('pays') };
}

/** What a call answers: `done`, or the code of its refusal. The page shows the invoice after any answer, and has paid nothing where it is to be asked again. */
async function answerOf(call: CallName, made: Promise<unknown>): Promise<string> {
  return made.then(
    () => 'done',
    (error: { code?: string }) => {
      if (error.code === undefined) throw error;
      return call === 'page' && error.code !== 'lock_timeout' ? 'done' : error.code;
    },
  );
}

/** All that is left of it once what is due is done: what it is, what it was billed, what each card paid, and what is to be refunded. */
async function stateOf({ standing, scope, id, fresh, typed, card }: Called) {
  on.at(new Date(calledAt[standing].getTime() + 120_000));
  while (await runDueSubscriptions(on.context));
  const subscription = await findSubscription(on.database, scope, id);
  const invoices = await on.test.admin<{ id: string; status: string; total_cents: bigint; attempts: number }>(
    'select id, status, total_cents, attempts from billing.invoices where subscription_id = $1 order by number',
    [id],
  );
  const { refundsOf } = callsOn(
    () => on,
    () => scope,
  );
  const cards = new Map([
    [card, 'old'],
    [fresh, 'fresh'],
    [on.peers.adoptedAs(typed), 'typed'],
  ]);
  const named = (cardId: string | null | undefined) => cards.get(cardId ?? '') ?? 'another';
  return {
    status: subscription?.status,
    plan: subscription?.metadata.plan,
    card: named(subscription?.defaultPaymentMethodId),
    hasBackup: subscription?.backupPaymentMethodId !== null,
    endsWithPeriod: subscription?.cancelAtPeriodEnd,
    periodEnd: subscription?.currentPeriodEnd,
    pays: subscription?.paymentAt,
    items: subscription?.items.map((item) => [item.unitAmountCents, item.quantity, item.invoicedCents]),
    pending: (await pendingProrations(on.database, scope, id)).map(({ kind, leftCents }) => [kind, leftCents]),
    invoices: invoices.map((one) => [
      ...[one.status, Number(one.total_cents), one.attempts],
      on.peers.taken
        .filter((taken) => taken.invoiceId === one.id)
        .map((taken) => [named(taken.paymentMethodId), taken.amountCents]),
    ]),
    refunds: (await refundsOf(id)).map(({ amountCents }) => amountCents),
  };
}

interface Made {
  readonly call: CallName;
  readonly answer: string;
}

/** The answers of calls, and all that is left. */
async function outcomeOf(of: Called, made: readonly Made[]): Promise<string> {
  const answers = made.filter(({ call }) => call !== 'renew').map(({ call, answer }) => `${call}: ${answer}`);
  return JSON.stringify({ answers: answers.sort(), ...(await stateOf(of)) });
}

function* orders(names: readonly CallName[]): Generator<readonly CallName[]> {
  if (names.length === 0) yield [];
  for (const [at, first] of names.entries()) {
    // Of two calls that are the same, only one begins.
    if (names.indexOf(first) < at) continue;
    for (const rest of orders(names.toSpliced(at, 1))) yield [first, ...rest];
  }
}

/**
 * One way to make calls one after the other. Those before the step that is due are made a moment before that, or when it is due, which has them do it first. Some
 * calls are two steps each. A renewal, which an account can spread over a minute: its period begins with an open invoice, which is then charged. And a change or a
 * payment: it is saved, and then a card pays what is owed. The calls after one of `inParts` are made between its two steps.
 */
interface Way {
  readonly order: readonly CallName[];
  readonly isEarly: boolean;
  readonly spreads: boolean;
  readonly inParts: readonly number[];
}

const oneStep: ReadonlySet<CallName> = new Set(['renew', 'void', 'new number', 'cancel']);

function waysOf(names: readonly CallName[]): Way[] {
  const either = [false, true];
  return [...orders(names)].flatMap((order) =>
    (order.includes('renew') ? either : [false]).flatMap((spreads) =>
      (order.indexOf('renew') > 0 ? either : [false]).flatMap((isEarly) =>
        subsets(partable(order)).map((inParts) => ({ order, isEarly, spreads, inParts })),
      ),
    ),
  );
}

// Nothing comes after the last call.
function partable(order: readonly CallName[]): number[] {
  return order.flatMap((call, at) => (oneStep.has(call) || at === order.length - 1 ? [] : [at]));
}

function subsets(of: readonly number[]): number[][] {
  const [first, ...others] = of;
  if (first === undefined) return [[]];
  return subsets(others).flatMap((one) => [one, [first, ...one]]);
}

async function comesTo(standing: Standing, cardThen: Card, { order, isEarly, spreads, inParts }: Way): Promise<string> {
  const of = await bring(standing, cardThen);
  if (spreads) await withTx(on.database, of.scope, (tx) => saveRenewalSpread(tx, of.scope, 1));
  const [due, early] = [calledAt[standing], new Date(calledAt[standing].getTime() - 1)];
  const steps = order.map((call, at) => ({
    ...{ call, time: isEarly && at < order.indexOf('renew') ? early : due },
    inParts: inParts.includes(at),
  }));
  return outcomeOf(of, await makeInTurn(of, steps));
}

interface Step {
  readonly call: CallName;
  readonly time: Date;
  readonly inParts: boolean;
}

/** Makes calls one after the other, and those after one that is made in parts between its two steps. */
async function makeInTurn(of: Called, [first, ...others]: readonly Step[]): Promise<readonly Made[]> {
  if (first === undefined) return [];
  let rest: Promise<readonly Made[]> | undefined;
  const makeRest = () => {
    rest ??= makeInTurn(of, others);
    return rest;
  };
  const context = {
    ...on.context,
    failpoint: async (name: string) => {
      if (first.inParts && (name === 'subscription.changed' || name === 'invoice.due')) await makeRest();
    },
  };
  on.at(first.time);
  const answer = await answerOf(first.call, calls[first.call](of, context));
  return [{ call: first.call, answer }, ...(await makeRest())];
}

// The serial outcomes found so far, and the ways that are left to try, by the subscription and its calls.
const known = new Map<string, { readonly found: Set<string>; readonly left: Way[] }>();

/** The serial outcomes of calls that were made, looked for until one is the outcome. */
async function lookFor(
  outcome: string,
  standing: Standing,
  cardThen: Card,
  made: readonly Made[],
): Promise<Set<string>> {
  const names = made.map(({ call }) => call).sort();
  const name = JSON.stringify([standing, cardThen, names]);
  const { found, left } = known.get(name) ?? { found: new Set<string>(), left: waysOf(names) };
  known.set(name, { found, left });
  const refused = new Set(made.filter(({ answer }) => answer !== 'done').map(({ call }) => call));
  left.sort((one, another) => unlikeliness(one, refused) - unlikeliness(another, refused));
  while (!found.has(outcome)) {
    const way = left.shift();
    if (way === undefined) break;
    found.add(await comesTo(standing, cardThen, way));
  }
  return found;
}

// What was refused was most likely refused because of what was done. This decides only how soon the outcome is found.
function unlikeliness({ order, isEarly, spreads, inParts }: Way, refused: ReadonlySet<CallName>): number {
  const before = order.map((call, at) =>
    refused.has(call) ? order.slice(at).filter((later) => !refused.has(later)).length : 0,
  );
  return before.reduce((sum, one) => sum + one, 0) + [isEarly, spreads].filter(Boolean).length + inParts.length;
}

/** Makes the calls at once by two instances, each of which renews, in another order each time, and compares with what they come to one after the other. */
async function comparesWithSerial(standing: Standing, cardThen: Card, names: readonly CallName[]) {
  for (let round = 0; round < names.length; round++) {
    const of = await bring(standing, cardThen);
    const order = names.map((_, at) => names[(at + round) % names.length] ?? 'renew');
    const made = await Promise.all(
      [...order, 'renew' as const].map(async (call, at) => ({
        call,
        answer: await answerOf(call, calls[call](of, at % 2 === 0 ? on.context : other)),
      })),
    );
    // One that is to be made again changed nothing. A renewal that another call was before is made in the end.
    const counted = made
      .slice(0, names.length)
      .filter(({ call, answer }) => call === 'renew' || answer !== 'lock_timeout');
    const outcome = await outcomeOf(of, counted);
    const outcomes = await lookFor(outcome, standing, cardThen, counted);
    expect(outcomes.has(outcome), `round ${round}: ${outcome}\n is none of ${[...outcomes].join('\n')}`).toBe(true);
  }
}

describe('calls at once on one subscription', () => {
  const sets: readonly (readonly [Standing, readonly CallName[], Card])[] = [
    ['whose renewal is due', ['update', 'cancel', 'pause', 'renew', 'pay'], 'pays'],
    ['whose renewal is due', ['update', 'cancel', 'pause', 'renew', 'pay'], 'is declined'],
    ['whose renewal is due', ['renew', 'items', 'pause', 'pay'], 'is declined'],
    ['whose renewal is due', ['renew', 'items', 'update', 'cancel'], 'pays'],
    ['whose renewal is due', ['renew', 'items', 'items', 'backup'], 'pays'],
    ['whose renewal is due', ['renew', 'end with the period', 'update', 'void'], 'is declined'],
    ['whose renewal is due', ['renew', 'cancel later', 'backup', 'page'], 'is declined'],
    ['whose retry is due', ['renew', 'update', 'void', 'page'], 'is declined'],
    ['whose retry is due', ['renew', 'pay', 'void', 'cancel'], 'pays'],
    ['whose retry is due', ['renew', 'new number', 'void', 'end with the period'], 'is declined'],
    ['that is paused', ['resume', 'resume', 'pause', 'update'], 'pays'],
    ['that is paused', ['resume', 'cancel', 'items', 'void'], 'is declined'],
    ['in the middle of a period', ['items', 'items', 'pause', 'update'], 'pays'],
    ['in the middle of a period', ['items', 'cancel', 'backup', 'pay'], 'is declined'],
  ];
  it.each(sets)(
    '%s answer and leave what they do one after the other in some order: %j, of a card that %s [D14.262]',
    async (standing, names, card) => comparesWithSerial(standing, card, names),
    120_000,
  );
});
