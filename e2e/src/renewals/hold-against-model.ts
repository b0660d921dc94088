import { checkLedger, checkProcessor, type Fault } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { type Json, records, text } from '../records.ts';
import { type ChangedKept, modelOfChanges } from './changes.ts';
import { type DunningEnd, type EndingKept, invoiceAfterDunning, statusOf } from './ends.ts';
import { type Bill, beginningOf, type Kept, onOtherCard } from './kinds.ts';
import type { WallClock } from './wall-clock.ts';

/** Subscriptions, and until when they were billed. */
export interface BilledUntil {
  readonly kept: readonly (Kept | ChangedKept | EndingKept)[];
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
 * Each period of each subscription has one paid invoice of the model's amount, and one that ended has none after its end, but for the unpaid one of a dunned
 * subscription; each card was charged once for it, by one attempt; nothing else took money; nothing is due, and nothing is unsettled; each mail is sent; books, ledger
 * and the processor's own list agree to the cent. Throws with what does not hold.
 */
export async function holdAgainstModel(
  running: RunningShop,
  sold: readonly BilledUntil[],
  wallClock: WallClock,
  dunningEnd: DunningEnd,
): Promise<Billed> {
  const letterSessions = sold.flatMap(({ kept }) => kept).flatMap(({ letterSession }) => letterSession ?? []);
  const charges = await chargesByInvoice(running, new Set(letterSessions));
  const wrong: string[] = [];
  const billed = { periods: 0, invoices: 0, charges: 0, cents: 0 };
  const invoiceIds = new Set<string>();
  const all = sold.flatMap(({ kept, until }) => kept.map((of) => ({ of, until })));
  const check = async () => {
    for (let next = all.pop(); next !== undefined; next = all.pop()) {
      const model = modelOf(next.of, next.until, dunningEnd).toSorted();
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
  const ends = sold.flatMap(({ kept }) => kept).flatMap((of) => ('end' in of ? [of] : []));
  await nothingIsLeft(running, wallClock, ends, dunningEnd);
  await booksAgree(running.eligo, 120_000);
  await ledgerAgrees(running);
  return { ...billed, declined: charges.declined };
}

function modelOf(of: Kept | ChangedKept | EndingKept, until: Date, dunningEnd: DunningEnd): string[] {
  if ('changes' in of) return modelOfChanges(of, until).map(({ at, cents }) => lineOf(at, { health: cents, other: 0 }));
  const model: string[] = [];
  if (of.trialFrom !== undefined) model.push(lineOf(of.trialFrom, { health: 0, other: 0 }));
  if (of.soldAt !== undefined) model.push(lineOf(of.soldAt, of.bill(0)));
  const end = 'end' in of ? of.end : undefined;
  const isPaid = (n: number) => beginningOf(of, n) <= until && (end === undefined || n < end.unpaidFrom);
  let n = of.soldAt === undefined ? 0 : 1;
  for (; isPaid(n); n++) model.push(lineOf(beginningOf(of, n), billOf(of, n)));
  if (end?.ending === 'dunned') {
    const { health, other } = of.bill(n);
    const total = health + other;
    model.push(`${beginningOf(of, n).toISOString()} ${invoiceAfterDunning[dunningEnd]} 0 of ${total}, due ${total}`);
  }
  return model;
}

function billOf(of: Kept, n: number): Bill {
  const bill = of.bill(n);
  return of.losesClassAt !== undefined && of.losesClassAt < beginningOf(of, n) ? onOtherCard(bill) : bill;
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

// Without those of the sessions with which letters came.
async function chargesByInvoice({ eligo }: RunningShop, letterSessions: ReadonlySet<string>) {
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
    const { attempt = '', invoice = '', leg = '', session = '' } = metadata as Record<string, string>;
    if (letterSessions.has(session)) continue;
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

// Nothing is due, owed or under way, but for what dunned subscriptions leave. A process that is killed leaves its leases. They end by the clock of the processes, which is
// hours ahead of the database's; those of mails end by the database's.
async function nothingIsLeft(
  { eligo }: RunningShop,
  wallClock: WallClock,
  ends: readonly EndingKept[],
  dunningEnd: DunningEnd,
): Promise<void> {
  const expected = ends.map((of) => ({
    id: of.id,
    status: statusOf(of, dunningEnd),
    owes: of.end.ending === 'dunned',
  }));
  let left: { what: string; id: string }[] = [];
  const isNothingLeft = async () => {
    left = await eligo.database.admin<{ what: string; id: string }>(
      `with ends as (select * from jsonb_to_recordset($2) as e (id text, status text, owes boolean))
       select 'not ' || coalesce(e.status, 'active') || ', but ' || s.status as what, s.id
       from billing.subscriptions s left join ends e on e.id = s.id where s.status <> coalesce(e.status, 'active')
       union all select 'an invoice that is ' || status, id from billing.invoices
       where status <> 'paid' and subscription_id not in (select id from ends where owes)
       union all select 'a charge that is pending for', invoice_id from billing.invoice_charges where status = 'pending'
       union all select 'held', id from billing.subscriptions where held_until > $1
       union all select 'a clock that is ' || status, id from billing.test_clocks where status <> 'ready'
       union all select 'a mail that is ' || status, id from billing.notice_mails where status not in ('sent', 'dropped')
       union all select 'a mail that is ' || status, id from billing.subscription_mails where status not in ('sent', 'dropped')
       limit 20`,
      [wallClock.now(), JSON.stringify(expected)],
    );
    return left.length === 0;
  };
  try {
    // A mail that a dead process had claimed is sent after two minutes, by a job that runs each minute.
    await waitUntil(isNothingLeft, {
      ...{ withinMs: 240_000, everyMs: 200, what: 'nothing that is due, owed or under way' },
    });
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
