import { checkLedger, checkProcessor, type Fault } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { type Json, records, text } from '../records.ts';
import { type ChangedKept, modelOfChanges } from './changes.ts';
import { type Bill, beginningOf, type Kept } from './kinds.ts';
import type { WallClock } from './wall-clock.ts';

/** Subscriptions, and until when they were billed. */
export interface BilledUntil {
  readonly kept: readonly (Kept | ChangedKept)[];
  readonly until: Date;
}

/** What was billed. */
export interface Billed {
  readonly periods: number;
  readonly invoices: number;
  readonly charges: number;
  readonly declined: number;
  readonly cents: number;
}

/**
 * Each period of each subscription has one paid invoice of the model's amount; each card was charged once for it, by one attempt; nothing else took money; nothing is
 * due, and nothing is unsettled; books, ledger and the processor's own list agree to the cent. Throws with what does not hold.
 */
export async function holdAgainstModel(
  running: RunningShop,
  sold: readonly BilledUntil[],
  wallClock: WallClock,
): Promise<Billed> {
  const charges = await chargesByInvoice(running);
  const wrong: string[] = [];
  const billed = { periods: 0, invoices: 0, charges: 0, cents: 0 };
  const invoiceIds = new Set<string>();
  const all = sold.flatMap(({ kept, until }) => kept.map((of) => ({ of, until })));
  const check = async () => {
    for (let next = all.pop(); next !== undefined; next = all.pop()) {
      const model = modelOf(next.of, next.until).toSorted();
      const invoices = await invoicesOf(running, next.of);
      const seen = invoices.map((invoice) => {
        const id = text(invoice, 'invoice_id');
        invoiceIds.add(id);
        const own = charges.taken.get(id) ?? [];
        billed.charges += own.length;
        return periodOf(invoice, own);
      });
      billed.periods += model.length;
      billed.invoices += invoices.length;
      billed.cents += invoices.reduce((sum, { amount_paid }) => sum + Number(amount_paid), 0);
      // Lists are in the order of identifiers, which begin with a wall clock that went back.
      seen.sort();
      if (seen.join() !== model.join()) {
        wrong.push(
          `${next.of.kind} ${next.of.id}: billed ${differenceOf(seen, model)}; the model is ${differenceOf(model, seen)}`,
        );
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, check));
  if (wrong.length > 0)
    throw new Error(`${wrong.length} subscriptions are not as in the model:\n${wrong.slice(0, 20).join('\n')}`);
  const strange = [...charges.taken.keys()].filter((id) => !invoiceIds.has(id));
  if (strange.length > 0) throw new Error(`charged for no invoice of the model: ${strange.join()}`);
  if (charges.cents !== billed.cents)
    throw new Error(`the processor took ${charges.cents}, invoices say ${billed.cents}`);
  await nothingIsLeft(running, wallClock);
  await booksAgree(running.eligo, 120_000);
  await ledgerAgrees(running);
  return { ...billed, declined: charges.declined };
}

function modelOf(of: Kept | ChangedKept, until: Date): string[] {
  if ('changes' in of) return modelOfChanges(of, until).map(({ at, cents }) => lineOf(at, { health: cents, other: 0 }));
  const model: string[] = [];
  if (of.trialFrom !== undefined) model.push(lineOf(of.trialFrom, { health: 0, other: 0 }));
  if (of.soldAt !== undefined) model.push(lineOf(of.soldAt, of.bill(0)));
  for (let n = of.soldAt === undefined ? 0 : 1; beginningOf(of, n) <= until; n++) {
    model.push(lineOf(beginningOf(of, n), of.bill(n)));
  }
  return model;
}

function lineOf(start: Date, { health, other }: Bill): string {
  const charged = [...(health > 0 ? [`health ${health}`] : []), ...(other > 0 ? [`other ${other}`] : [])];
  return [`${start.toISOString()} paid ${health + other}`, ...charged].join(' + ');
}

interface Taken {
  readonly leg: string;
  readonly cents: number;
}

function periodOf({ period_start, status, total, amount_paid, amount_due }: Json, taken: readonly Taken[]): string {
  const charged = taken.map(({ leg, cents }) => `${leg} ${cents}`).toSorted();
  const paid = amount_paid === total && amount_due === 0 ? total : `${amount_paid} of ${total}, due ${amount_due}`;
  return [`${period_start} ${status} ${paid}`, ...charged].join(' + ');
}

// What only one of the two has.
function differenceOf(one: readonly string[], other: readonly string[]): string {
  const left = [...other];
  const own = one.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return own.join('; ') || 'nothing else';
}

async function invoicesOf({ api }: RunningShop, { id, customer }: Kept): Promise<Json[]> {
  const found: Json[] = [];
  for (let after = ''; ; ) {
    const page = await api.ok('GET', `/v1/invoices?customer=${customer}&limit=100${after}`);
    const invoices = records(page, 'invoices');
    found.unshift(...invoices.toReversed());
    if (page.has_more !== true) break;
    after = `&starting_after=${invoices.at(-1)?.invoice_id}`;
  }
  return found.filter(({ subscription }) => subscription === id);
}

async function chargesByInvoice({ eligo }: RunningShop) {
  const charges = records(await eligo.sandbox('GET', '/sandbox/charges'), 'data');
  const attempts = await eligo.database.admin<{ id: string; subject_id: string; leg: string; amount: number }>(
    `select id, subject_id, leg, amount_cents::int as amount from checkout.charge_attempts
      where purpose = 'invoice' and status = 'succeeded' and account_id = $1 and test_mode`,
    [eligo.account],
  );
  const unmatched = new Map(attempts.map((attempt) => [attempt.id, attempt]));
  const taken = new Map<string, Taken[]>();
  let cents = 0;
  for (const { id, status, metadata, amount_captured } of charges) {
    if (status !== 'succeeded') continue;
    const { attempt = '', invoice = '', leg = '' } = metadata as Record<string, string>;
    const own = unmatched.get(attempt);
    if (own?.subject_id !== invoice || own.leg !== leg || own.amount !== amount_captured) {
      throw new Error(
        `charge ${id} of ${amount_captured} for ${invoice} is not that of attempt ${attempt}, or its second one`,
      );
    }
    unmatched.delete(attempt);
    taken.set(invoice, [...(taken.get(invoice) ?? []), { leg, cents: own.amount }]);
    cents += own.amount;
  }
  if (unmatched.size > 0)
    throw new Error(`attempts without a charge at the processor: ${[...unmatched.keys()].join()}`);
  return { taken, cents, declined: charges.filter(({ status }) => status === 'failed').length };
}

// Nothing is due, owed or under way. A process that is killed leaves its leases. They end by the clock of the processes, which is hours ahead of the database's.
async function nothingIsLeft({ eligo }: RunningShop, wallClock: WallClock): Promise<void> {
  let left: { what: string; id: string }[] = [];
  const isNothingLeft = async () => {
    left = await eligo.database.admin<{ what: string; id: string }>(
      `select 'not active, but ' || status as what, id from billing.subscriptions where status <> 'active'
       union all select 'an invoice that is ' || status, id from billing.invoices where status <> 'paid'
       union all select 'a charge that is pending for', invoice_id from billing.invoice_charges where status = 'pending'
       union all select 'held', id from billing.subscriptions where held_until > $1
       union all select 'a clock that is ' || status, id from billing.test_clocks where status <> 'ready'
       limit 20`,
      [wallClock.now()],
    );
    return left.length === 0;
  };
  try {
    await waitUntil(isNothingLeft, { what: 'nothing that is due, owed or under way' });
  } catch (error) {
    throw new Error(`left: ${left.map(({ what, id }) => `${what} ${id}`).join('; ')}`, { cause: error });
  }
}

// The job of the ledger posts each entry some seconds after it; then it agrees with what the processor lists, and nothing is unsettled.
async function ledgerAgrees({ eligo }: RunningShop): Promise<void> {
  const database = openDatabase({ url: eligo.database.adminUrl, applicationName: 'ledger of renewals', max: 1 });
  const processors = openProcessors({ ELIGO_SANDBOX_URL: eligo.processor.url, ELIGO_SANDBOX_KEY: eligo.processor.key });
  let faults: Fault[] = [];
  const agrees = async () => {
    faults = [...(await checkLedger(database)), ...(await checkProcessor(database, processors)).faults];
    return faults.length === 0;
  };
  try {
    await waitUntil(agrees, { withinMs: 300_000, everyMs: 500, what: 'a ledger without a fault' });
  } catch (error) {
    throw new Error(`the ledger does not agree: ${JSON.stringify(faults.slice(0, 20))}`, { cause: error });
  } finally {
    processors.close();
    await database.close();
  }
}
