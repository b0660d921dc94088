import type { Random } from '../chaos/random.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { record, text } from '../records.ts';
import { insist } from './insist.ts';
import { beginningOf, type Ending, type Kept } from './kinds.ts';

/** When and how a subscription ends. */
export interface End {
  readonly ending: Ending;
  /** When its partner cancels it, or gives it a card that is declined from then on. */
  readonly at: Date;
  /** The number of the first period that it does not pay for. */
  readonly unpaidFrom: number;
}

/** A subscription that ends, with all that will happen to it. */
export interface EndingKept extends Kept {
  readonly end: End;
}

/** What becomes of a subscription after the last try of its dunning, as its account has it. */
export type DunningEnd = 'canceled' | 'unpaid';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** The last try of dunning is seven days after the first. */
const dunnedWithinMs = 8 * dayMs;

/** Plans the end of a subscription after a time, so that all of it has happened before another. Undefined if there is no time for it. */
export function planEnd(random: Random, of: Kept, ending: Ending, from: Date, end: Date): End | undefined {
  const leastMs = ending === 'dunned' ? dunnedWithinMs : hourMs;
  const possible: number[] = [];
  for (let n = 1; beginningOf(of, n).getTime() + leastMs < end.getTime(); n++) {
    if (beginningOf(of, n - 1) >= from) possible.push(n);
  }
  if (possible.length === 0) return undefined;
  // Rather in the middle than at once.
  const unpaidFrom = possible[Math.floor((possible.length - 1) * (0.3 + 0.5 * random.next()))] as number;
  const [start, stop] = [beginningOf(of, unpaidFrom - 1).getTime(), beginningOf(of, unpaidFrom).getTime()];
  const at = new Date(Math.round(start + (0.1 + 0.8 * random.next()) * (stop - start)));
  return { ending, at, unpaidFrom };
}

/** Begins the end by the public interface, however often it has to be asked for. */
export async function beginEnd({ api }: RunningShop, { id, weak, end }: EndingKept): Promise<void> {
  const path = `/v1/subscriptions/${id}`;
  if (end.ending === 'dunned') {
    if (weak === undefined) throw new Error(`${id} has no card that is declined`);
    const subscription = { [weak.field]: weak.bad };
    await insist(`PATCH ${path}`, () => api.patch(path, { subscription }), 200);
    return;
  }
  const body = end.ending === 'canceled' ? {} : { subscription: { cancel_at_period_end: true } };
  const isCanceled = async () =>
    record((await insist(`GET ${path}`, () => api.get(path), 200)).body, 'subscription').status === 'canceled';
  // Asked for again after its answer was lost, it is refused: it is so already.
  await insist(
    `DELETE ${path}`,
    async () => {
      const answer = await api.delete(path, body);
      return answer.status === 409 && (await isCanceled()) ? { ...answer, status: 200 } : answer;
    },
    200,
  );
}

/** How a subscription is at the end of the model. */
export function statusOf({ end }: EndingKept, dunningEnd: DunningEnd): string {
  return end.ending === 'dunned' ? dunningEnd : 'canceled';
}

/** How the invoice is that a dunned subscription leaves. */
export const invoiceAfterDunning: Readonly<Record<DunningEnd, string>> = { canceled: 'uncollectible', unpaid: 'open' };

/** Pays what a subscription owes with another card, by its invoice, and gives it the card. */
export async function payByHand({ api }: RunningShop, { id }: Kept, card: string): Promise<void> {
  const path = `/v1/subscriptions/${id}`;
  const subscription = record((await insist(`GET ${path}`, () => api.get(path), 200)).body, 'subscription');
  const invoice = `/v1/invoices/${text(subscription, 'latest_invoice')}`;
  await insist(
    `POST ${invoice}/pay`,
    async () => {
      const answer = await api.post(`${invoice}/pay`, { invoice: { payment_method: card } });
      const isPaid = answer.status === 409 && answer.body.code === 'invoice_already_paid';
      return isPaid ? { ...answer, status: 200 } : answer;
    },
    200,
  );
  const body = { subscription: { default_payment_method: card } };
  await insist(`PATCH ${path}`, () => api.patch(path, body), 200);
}
