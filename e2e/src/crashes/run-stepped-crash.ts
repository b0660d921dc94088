import type { Constellation } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { openShop } from '../shop.ts';
import {
  insistOnPage,
  insistOnPayment,
  newPageCart,
  type PageCart,
  payOnPage,
  reloadPage,
  resumeOnPage,
  type TypedNumber,
  typeCard,
} from './page-shopper.ts';
import { type SteppedCrash, type SteppedPayment, steppedPasses } from './page-step-crashes.ts';
import { passesExactly } from './passes-of.ts';
import { recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';
import { expectStanding, type Standing, unpaid } from './standing-of.ts';

/** The shopper goes away once the process has died, or reloads the page and does what it asks for. */
export const steppedRetries = ['the shopper comes back', 'the shopper stays away'] as const;
export type SteppedRetry = (typeof steppedRetries)[number];

interface Way {
  readonly health: TypedNumber;
  readonly other: TypedNumber;
  /** Whether the health card goes first, alone. */
  readonly isOneByOne?: boolean;
  readonly bank?: 'success' | 'failure' | 'given up';
}

const ways: Readonly<Record<SteppedPayment, Way>> = {
  'the health card, then the other one': { health: 'hsa', other: 'credit', isOneByOne: true },
  'a health card that is approved for a part, then another one': {
    ...{ health: 'shortHsa', other: 'credit', isOneByOne: true },
  },
  'a card whose bank confirms it': { health: 'hsa', other: 'authenticated', bank: 'success' },
  'a card whose bank refuses it': { health: 'hsa', other: 'authenticated', bank: 'failure' },
  'a card that is given up while its bank waits': { health: 'hsa', other: 'authenticated', bank: 'given up' },
};

/** What there is on the short card. */
const shortCents = 2_500;

/**
 * Pays on the page in two requests, has the process die in one of them, and holds what becomes of it against the model. A shopper who comes back pays both cards
 * once, unless the bank refuses. One who stays away after the second request has paid as well; after the first one, the health card is held for an hour at most
 * and nothing is taken.
 */
export async function runSteppedCrash(shared: RunningShop, crash: SteppedCrash, retry: SteppedRetry): Promise<void> {
  const running = await shopFor(shared, crash.payment);
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const steps = await stepsOf(running, crash.payment);
  if (crash.step === 2) {
    await insistOnPage(steps.first);
    await steps.answerBank();
  }
  await eligo.armFailpoint('checkout', crash.failpoint, { action: 'kill', skip: crash.skip });
  const dying = crash.step === 1 ? steps.first : steps.second;
  await Promise.all([dying(), recovered(running, crash.failpoint)]);

  const { cart } = steps;
  const isRefused = ways[crash.payment].bank === 'failure' || ways[crash.payment].bank === 'given up';
  if (retry === 'the shopper comes back') {
    await comeBack(cart, steps);
    await booksAgree(eligo);
    return expectStanding(running, cart.sessionId, [isRefused ? unpaid : paidBy(cart, crash.payment)]);
  }
  await giveUpWaiting(running, cart, crash.step);
  await booksAgree(eligo);
  const possible =
    crash.step === 2 ? [isRefused ? unpaid : paidBy(cart, crash.payment)] : afterFirst(cart, crash.payment);
  await expectStanding(running, cart.sessionId, possible);
}

/** Throws unless requests that nothing disturbs pass each failpoint as often as the list says, and no other one. */
export async function passesStepped(shared: RunningShop, payment: SteppedPayment): Promise<void> {
  const running = await shopFor(shared, payment);
  const steps = await stepsOf(running, payment);
  const [first, second] = steppedPasses[payment];
  const isWaiting = ways[payment].bank !== undefined;
  await passesExactly(running, first, () => insistOnPage(steps.first), { isInFlight: isWaiting });
  await steps.answerBank();
  await passesExactly(running, second, () => insistOnPage(steps.second), { isInFlight: isWaiting });
}

function amountsOf({ eligibleCents, totalCents }: PageCart, payment: SteppedPayment): [health: number, other: number] {
  const health = ways[payment].health === 'shortHsa' ? shortCents : eligibleCents;
  return [health, totalCents - health];
}

function paidBy(cart: PageCart, payment: SteppedPayment): Standing {
  return { status: 'complete', received: cart.totalCents, taken: amountsOf(cart, payment) };
}

// The health card waits for the other one; what waited for its bank is given up with its hold.
function afterFirst(cart: PageCart, payment: SteppedPayment): Standing[] {
  const [health] = amountsOf(cart, payment);
  return ways[payment].isOneByOne === true ? [{ ...unpaid, held: [health] }] : [unpaid];
}

async function stepsOf(running: RunningShop, payment: SteppedPayment) {
  const { health: first, other: last, isOneByOne = false, bank } = ways[payment];
  const cart = await newPageCart(running);
  const [health, other] = [await typeCard(running, first), await typeCard(running, last)];
  return {
    cart,
    bank,
    first: () => payOnPage(cart, isOneByOne ? { health } : { health, other }),
    second: () => (isOneByOne ? payOnPage(cart, { other }) : resumeOnPage(cart, bank === 'given up')),
    async answerBank() {
      if (bank === undefined || bank === 'given up') return;
      const { authentication } = await reloadPage(cart);
      if (authentication === null) throw new Error('the bank does not wait');
      await answer(running, authentication as Json, bank);
    },
  };
}

type Steps = Awaited<ReturnType<typeof stepsOf>>;

async function answer({ eligo }: RunningShop, authentication: Json, outcome: 'success' | 'failure'): Promise<void> {
  const [intent] = new URL(text(authentication, 'url')).hash.slice(1).split('_secret_');
  await eligo.sandbox('POST', `/sandbox/authentications/${intent}`, { outcome });
}

// As the page's script does with what it is told.
async function comeBack(cart: PageCart, { first, second, answerBank }: Steps): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) {
    const view = await reloadPage(cart);
    if (view.state !== 'open') return;
    const action = (view.next_action as Json | null)?.type;
    if (action === 'payment_failed') return;
    if (view.authentication !== null) await answerBank();
    const goOn = view.authentication !== null || action === 'provide_second_payment_method' ? second : first;
    await insistOnPayment(goOn);
  }
  throw new Error('the page asks again and again');
}

// Minutes of production: the time in which a card may still be confirmed.
async function giveUpWaiting({ eligo }: RunningShop, cart: PageCart, step: 1 | 2): Promise<void> {
  if (step === 2) return;
  await reloadPage(cart);
  await eligo.database.admin(
    `update checkout.charge_attempts set confirm_until = now(), next_check_at = now()
     where subject_id = $1 and status in ('created', 'sending', 'unknown')`,
    [cart.sessionId],
  );
}

/** Another account of the same Eligo, whose cards may be approved for a part. */
const partialShops = new WeakMap<Constellation, Promise<RunningShop>>();

function shopFor(shared: RunningShop, payment: SteppedPayment): RunningShop | Promise<RunningShop> {
  if (ways[payment].health !== 'shortHsa') return shared;
  const { eligo } = shared;
  const opened = partialShops.get(eligo) ?? openPartialShop(shared);
  partialShops.set(eligo, opened);
  return opened;
}

async function openPartialShop({ eligo }: RunningShop): Promise<RunningShop> {
  const made = await runCli(eligo, ['accounts', 'create', '--name', 'Parts', '--feature', 'partial_approvals']);
  const api = eligo.api(text(made, 'test_api_key'));
  return { eligo, api, shop: await openShop(api), account: text(made, 'account') };
}
