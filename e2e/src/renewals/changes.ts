import type { Random } from '../chaos/random.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { record } from '../records.ts';
import { insist } from './insist.ts';
import { beginningOf, type Changing, type Kept, type OtherItem } from './kinds.ts';

/** What a partner does to a subscription while its clock stands at a time, and what that means for its model. */
export interface Change {
  readonly at: Date;
  readonly does:
    | ({ readonly what: 'items' } & OtherItem)
    | { readonly what: 'pause' }
    | { readonly what: 'resume'; readonly keepsAnchor: boolean };
}

/** A subscription that changes, with all that will happen to it. */
export interface ChangedKept extends Kept {
  readonly changing: Changing;
  readonly changes: readonly Change[];
}

/** What an invoice of the model is for: since when, and how much. */
export interface ModelInvoice {
  readonly at: Date;
  readonly cents: number;
}

const hourMs = 3_600_000;

/** Plans the changes of a subscription after a time and before another: one of its items in a period, or a pause that may outlast some periods. */
export function planChanges(random: Random, of: Kept, changing: Changing, from: Date, end: Date): Change[] {
  return changing.what === 'pause'
    ? planPauses(random, of, changing.keepsAnchor, from, end)
    : planItems(random, of, changing.offers, from, end);
}

function planItems(
  random: Random,
  of: Kept,
  offers: Extract<Changing, { what: 'items' }>['offers'],
  from: Date,
  end: Date,
): Change[] {
  const changes: Change[] = [];
  for (let n = 0; beginningOf(of, n) < end; n++) {
    const at = within(of, n, 0.05 + 0.85 * random.next());
    if (random.next() < 0.3 || at <= from || at >= end) continue;
    const offer = offers[(changes.length + 1) % offers.length];
    if (offer !== undefined) changes.push({ at, does: { what: 'items', ...offer } });
  }
  return changes;
}

// What is left of a period when it is resumed is a part that a card can be charged.
function planPauses(random: Random, of: Kept, keepsAnchor: boolean, from: Date, end: Date): Change[] {
  const changes: Change[] = [];
  let rhythm: Pick<Kept, 'anchor' | 'days'> = of;
  for (let n = 0; ; ) {
    const pausedAt = within(rhythm, n, 0.1 + 0.3 * random.next());
    if (pausedAt <= from) {
      n += 1;
      continue;
    }
    const periods = random.between(0, 2);
    const resumedAt = within(rhythm, n + periods, 0.5 + 0.3 * random.next());
    if (resumedAt.getTime() >= end.getTime() - hourMs) return changes;
    changes.push({ at: pausedAt, does: { what: 'pause' } }, { at: resumedAt, does: { what: 'resume', keepsAnchor } });
    if (keepsAnchor) n += periods + 1;
    else {
      rhythm = { anchor: resumedAt };
      n = 1;
    }
  }
}

function within(of: Pick<Kept, 'anchor' | 'days'>, n: number, share: number): Date {
  const [start, end] = [beginningOf(of, n).getTime(), beginningOf(of, n + 1).getTime()];
  return new Date(Math.round(start + share * (end - start)));
}

/** Makes a change by the public interface, however often it has to be asked for. */
export async function makeChange({ api }: RunningShop, { id, changing }: ChangedKept, { does }: Change): Promise<void> {
  const path = `/v1/subscriptions/${id}`;
  if (does.what === 'items') {
    const items = [{ price: does.price, quantity: does.quantity }];
    const { behavior: proration_behavior, coupon } = changing.what === 'items' ? changing : {};
    const subscription = { items, proration_behavior, coupon: coupon?.id };
    await insist(`PATCH ${path}`, () => api.patch(path, { subscription }), 200);
    return;
  }
  const isPause = does.what === 'pause';
  const body = isPause ? {} : { subscription: { billing_cycle_anchor: does.keepsAnchor ? 'unchanged' : 'now' } };
  const wanted = isPause ? 'paused' : 'active';
  const isReached = async () =>
    record((await insist(`GET ${path}`, () => api.get(path), 200)).body, 'subscription').status === wanted;
  // Asked for again after its answer was lost, it is refused: it is so already.
  await insist(
    `POST ${path}/${does.what}`,
    async () => {
      const answer = await api.post(`${path}/${does.what}`, body);
      return answer.status === 409 && (await isReached()) ? { ...answer, status: 200 } : answer;
    },
    200,
  );
}

/** The invoices of a subscription that changes, until a time: each period at what it costs when it begins, and what changes within periods are worth. */
export function modelOfChanges(of: ChangedKept, until: Date): ModelInvoice[] {
  const { changing } = of;
  // What a period costs that begins, and what the present one was invoiced at. A coupon counts from the period after the change that gives it.
  let cost = of.bill(0).health;
  let invoiced = cost;
  let percent = 0;
  let rhythm: Pick<Kept, 'anchor' | 'days'> = of;
  let n = 0;
  let isPaused = false;
  // What changes were worth that no invoice has: charges less credits.
  let pending = 0;
  const invoices: ModelInvoice[] = [{ at: of.anchor, cents: cost }];
  const endsAt = () => beginningOf(rhythm, n + 1);
  const partLeft = (cents: number, at: Date) => {
    const [start, end] = [beginningOf(rhythm, n).getTime(), endsAt().getTime()];
    return Math.floor((cents * (end - at.getTime())) / (end - start));
  };
  const renewUntil = (time: Date) => {
    for (; !isPaused && endsAt() <= time; n++) {
      invoices.push({ at: endsAt(), cents: cost + pending });
      pending = 0;
      invoiced = cost;
    }
  };
  for (const { at, does } of of.changes) {
    renewUntil(at);
    if (does.what === 'pause') isPaused = true;
    else if (does.what === 'items') {
      if (changing.what === 'items' && changing.behavior !== 'none') {
        const off = offOf(does.cents, percent);
        pending += partLeft(does.cents, at) - partLeft(off, at) - partLeft(invoiced, at);
        invoiced = does.cents - off;
        if (changing.behavior === 'always_invoice' && pending >= leastCents) {
          invoices.push({ at, cents: pending });
          pending = 0;
        }
      }
      percent = changing.what === 'items' ? (changing.coupon?.percent ?? 0) : 0;
      cost = does.cents - offOf(does.cents, percent);
    } else {
      isPaused = false;
      const isPaid = endsAt() > at;
      if (does.keepsAnchor) {
        while (endsAt() <= at) n += 1;
        if (!isPaid) invoices.push({ at, cents: partLeft(cost, at) });
      } else {
        invoices.push({ at, cents: cost - (isPaid ? partLeft(cost, at) : 0) });
        rhythm = { anchor: at };
        n = 0;
      }
    }
  }
  renewUntil(until);
  return invoices;
}

// All amounts that have a coupon are such that nothing is rounded.
function offOf(cents: number, percent: number): number {
  return (cents * percent) / 100;
}

// What is less is not charged alone.
const leastCents = 50;
