import { setTimeout as pause } from 'node:timers/promises';
import { maxGatherMs, type Scope, withTx } from '@eligo/postgres';
import type { ChargePace } from '../charge-pace.ts';
import type { Context } from '../context.ts';
import { bucketsOf } from '../domain/eligible-classes.ts';
import type { Invoice, InvoiceCharge } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Places } from '../places.ts';
import { releaseSubscriptions } from '../store/due-subscriptions.ts';
import { findSubscriptions } from '../store/subscriptions.ts';
import { askCheckout, collectInvoice } from './collect-invoice.ts';
import { recordOutcome } from './record-payment.ts';
import { type PaidCharge, recordPayments } from './record-payments.ts';
import { isPlainRenewal, type Renewed, renewTogether } from './renew-together.ts';
import { giveBack, giveBackLater, runDueStep, type StepOutcome } from './run-due-step.ts';
import { sharePace } from './share-pace.ts';
import { waitForFeatures } from './wait-for-features.ts';

/** What bounds the work of a process. */
export interface DueLimits {
  /** Charges of each account in a time. */
  readonly pace: ChargePace;
  /** Charges of all accounts at a time. */
  readonly charges: Places;
  /** When this process no longer holds what it has taken. */
  readonly until: Date;
  /** Called when one of the subscriptions is given back. */
  readonly onGivenBack: () => void;
}

/**
 * Does the one thing that is due for each of these subscriptions of one account, at most 16, which this process has taken, and gives them back. Plain renewals
 * share their statements and their calls, but for the charges themselves. Where that fails, and for all other work, each is done alone by `runDueStep`: none fails
 * because of another. Answers for how many something was done.
 */
export async function runDueSteps(
  context: Context,
  scope: Scope,
  ids: readonly string[],
  limits: DueLimits,
): Promise<number> {
  const plain = ids.length < 2 ? [] : await plainRenewals(context, scope, ids);
  const renewed = plain.length < 2 ? nothing : await renewInTurn(context, scope, plain, limits);
  const alone = ids.filter((id) => !renewed.given.has(id));
  // Where one cannot even be given back, the others still end before this does.
  const results = await Promise.allSettled([
    finishTogether(context, scope, renewed.renewed, limits),
    ...alone.map(async (id) => Number(await stepAlone(context, scope, id, limits, renewed.turns.has(id)))),
  ]);
  return results.reduce((sum, result) => {
    if (result.status === 'rejected') throw result.reason;
    return sum + result.value;
  }, 0);
}

async function stepAlone(
  context: Context,
  scope: Scope,
  id: string,
  { charges, pace, until, onGivenBack }: DueLimits,
  hasTurn: boolean,
): Promise<boolean> {
  return charges.use(1, async () => {
    try {
      return context.clock.now() < until && (await runDueStep(context, scope, id, hasTurn ? {} : { pace }));
    } finally {
      onGivenBack();
    }
  });
}

async function plainRenewals(context: Context, scope: Scope, ids: readonly string[]): Promise<Subscription[]> {
  const now = context.clock.now();
  try {
    const found = await findSubscriptions(context.database, scope, ids);
    return found
      .filter((one) => isPlainRenewal(one) && one.currentPeriodEnd <= now)
      .sort((one, other) => one.currentPeriodEnd.getTime() - other.currentPeriodEnd.getTime());
  } catch (error) {
    warnOfGroup(context, error);
    return [];
  }
}

interface InTurn {
  readonly renewed: readonly Renewed[];
  /** Those that are renewed, and those that were given back: they wait for their turn, or for what the account can do. */
  readonly given: ReadonlySet<string>;
  /** Those whose turn it is; what of them is not renewed has its turn still. */
  readonly turns: ReadonlySet<string>;
}

const nothing: InTurn = { renewed: [], given: new Set(), turns: new Set() };

async function renewInTurn(
  context: Context,
  scope: Scope,
  plain: readonly Subscription[],
  { pace, onGivenBack }: DueLimits,
): Promise<InTurn> {
  const given = new Set<string>();
  const turns = new Set<string>();
  const give = (id: string) => {
    given.add(id);
    onGivenBack();
  };
  try {
    for (const id of await waitForFeatures(context, scope, plain)) give(id);
    const ready = plain.filter(({ id }) => !given.has(id));
    if (ready.length === 0) return { renewed: [], given, turns };
    await sharePace({ ...context, pace });
    const now = context.clock.now();
    const waiting: { id: string; until: Date }[] = [];
    for (const { id } of ready) {
      const until = pace.take(scope, now);
      if (until === undefined) turns.add(id);
      else waiting.push({ id, until });
    }
    if (waiting.length > 0) await withTx(context.database, scope, (tx) => releaseSubscriptions(tx, scope, waiting));
    for (const { id } of waiting) give(id);
    if (turns.size < 2) return { renewed: [], given, turns };
    const renewed = await renewTogether(
      context,
      scope,
      ready.filter(({ id }) => turns.has(id)),
      now,
    );
    for (const { subscriptionId } of renewed) given.add(subscriptionId);
    return { renewed, given, turns };
  } catch (error) {
    warnOfGroup(context, error);
    return { renewed: [], given, turns };
  }
}

function warnOfGroup(context: Context, error: unknown): void {
  context.logger.warn({ err: error }, 'Failed to renew subscriptions together; will renew each of them alone');
}

/** A renewal whose charge has been answered. */
interface Answered extends PaidCharge {
  readonly invoice: Invoice;
}

// Sends all charges at once, as far as there are places. Records together the answers that come together, without waiting for slower charges.
async function finishTogether(
  context: Context,
  scope: Scope,
  renewed: readonly Renewed[],
  { pace, charges, until, onGivenBack }: DueLimits,
): Promise<number> {
  let done = 0;
  const alone: Promise<void>[] = [];
  const finishAlone = (id: string, work: () => Promise<StepOutcome>) => {
    alone.push(
      finishOne(context, scope, id, work).then((isDone) => {
        if (isDone) done += 1;
        onGivenBack();
      }),
    );
  };
  let asking = 0;
  let onAllAnswered: (() => void) | undefined;
  // A charge whose hold expired while it waited for a place is left to the next look. A charge of a paused account waits for the end of the pause.
  const ask = (owner: Pick<Subscription, 'id' | 'customerId'>, charge: InvoiceCharge, lines: Renewed['lines']) =>
    charges.use(1, async () => {
      const now = context.clock.now();
      if (now >= until) return 'not_held';
      if (pace.pausedUntil(scope, now) !== undefined) return 'unknown';
      await context.failpoint('invoice_charge.begun');
      const buckets = charge.leg === 'health' ? bucketsOf(lines, []) : undefined;
      asking += 1;
      try {
        return await askCheckout(context, scope, owner, charge, buckets);
      } finally {
        asking -= 1;
        if (asking === 0) onAllAnswered?.();
        await context.failpoint('invoice_charge.answered');
      }
    });
  const answered: Answered[] = [];
  let recording: Promise<void> | undefined;
  const answersOfNow = async () => {
    if (asking > 0) {
      const all = new Promise<void>((resolve) => {
        onAllAnswered = resolve;
      });
      // Answers to charges that were sent together come within a few milliseconds.
      await Promise.race([all, pause(maxGatherMs)]);
    }
    // The last one is added in the turn in which it is answered.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const recordAnswered = async () => {
    for (;;) {
      await answersOfNow();
      const group = answered.splice(0);
      if (group.length === 0) break;
      const recorded = await recordedTogether(context, scope, group);
      done += recorded.size;
      for (const one of group) {
        if (recorded.has(one)) onGivenBack();
        else finishAlone(one.subscriptionId, () => charges.use(1, () => recordAlone(context, scope, one)));
      }
    }
    recording = undefined;
  };
  await Promise.all(
    renewed.map(async ({ subscriptionId, customerId, invoice, lines, next }) => {
      try {
        if (next === 'nothing') return finishAlone(subscriptionId, async () => 'done');
        if (next === 'collect') {
          const collect = () => collectInvoice(context, scope, subscriptionId, context.clock.now());
          return finishAlone(subscriptionId, () => charges.use(1, collect));
        }
        const outcome = await ask({ id: subscriptionId, customerId }, next, lines);
        if (outcome === 'not_held') return onGivenBack();
        if (outcome === 'unknown' || outcome === 'awaits_customer')
          return finishAlone(subscriptionId, async () => 'unknown');
        answered.push({ subscriptionId, invoice, charge: next, outcome });
        recording ??= recordAnswered();
      } catch (error) {
        finishAlone(subscriptionId, () => Promise.reject(error));
      }
    }),
  );
  await recording;
  await Promise.all(alone);
  return done;
}

async function recordedTogether(
  context: Context,
  scope: Scope,
  answered: readonly Answered[],
): Promise<ReadonlySet<PaidCharge>> {
  const paid = answered.filter(
    ({ outcome, charge, invoice }) => outcome.status === 'succeeded' && charge.amountCents === invoice.totalCents,
  );
  if (paid.length < 2) return new Set();
  try {
    const recorded = await recordPayments(context, scope, paid);
    await context.failpoint('invoice_charge.recorded');
    return recorded;
  } catch (error) {
    context.logger.warn(
      { err: error },
      'Failed to record payments of invoices together; will record each of them alone',
    );
    return new Set();
  }
}

// A charge that is recorded already stays as it is. What is left of the invoice is charged next.
async function recordAlone(context: Context, scope: Scope, answered: Answered): Promise<StepOutcome> {
  const { subscriptionId, charge, outcome } = answered;
  await recordOutcome(context, scope, subscriptionId, charge, outcome);
  await context.failpoint('invoice_charge.recorded');
  return collectInvoice(context, scope, subscriptionId, charge.actingAt);
}

async function finishOne(
  context: Context,
  scope: Scope,
  id: string,
  work: () => Promise<StepOutcome>,
): Promise<boolean> {
  try {
    return await giveBack(context, scope, id, await work());
  } catch (error) {
    await giveBackLater(context, scope, id, error).catch((failure: unknown) =>
      context.logger.error(
        { err: failure, subscriptionId: id },
        'Failed to release a due subscription; its hold expires on its own',
      ),
    );
    return false;
  }
}
