import { booksAgree } from '../books.ts';
import {
  insistOnPage,
  insistOnPayment,
  newPageCart,
  type PageCart,
  payOnPage,
  reloadPage,
  type TypedCards,
  typeCard,
} from './page-shopper.ts';
import { passesExactly } from './passes-of.ts';
import { killCallerAt } from './run-caller-death.ts';
import { recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';
import { expectStanding, type Standing, unpaid } from './standing-of.ts';
import { type TypedCrash, type TypedPayment, typedPasses } from './typed-crashes.ts';

/** What the shopper does after the crash: goes away, sends the same cards again as the page does, or types cards that pay. */
export const shopperRetries = ['no retry', 'the same cards', 'other cards'] as const;
export type ShopperRetry = (typeof shopperRetries)[number];

/**
 * Pays on the page with typed cards, has the process die there, and holds what becomes of it against the model: each card is charged once and the session is
 * complete; or a card was declined, nothing was taken, and the session stays open. Nothing is left held, and the reloaded page says the same.
 */
export function runTypedCrash(running: RunningShop, crash: TypedCrash, retry: ShopperRetry): Promise<void> {
  return dieWhilePaying(running, crash.payment, retry, async (paying) => {
    const { failpoint, skip } = crash;
    await running.eligo.armFailpoint('checkout', failpoint, { action: 'kill', skip });
    await Promise.all([paying(), recovered(running, failpoint)]);
  });
}

/** Where checkout is while the gateway dies alone in the middle of a payment with two cards. */
export const pageCallerDeaths = ['plan.attempt_begun', 'charge.before_settle_commit', 'plan.hold_decided'] as const;

/** The same where the gateway dies, and checkout goes on without a caller. */
export function runPageCallerDeath(running: RunningShop, failpoint: string, retry: ShopperRetry): Promise<void> {
  return dieWhilePaying(running, 'two cards', retry, (paying) => killCallerAt(running, failpoint, paying));
}

/** Throws unless a payment that nothing disturbs passes each failpoint as often as the list says, and no other one. */
export async function passesTyped(running: RunningShop, payment: TypedPayment): Promise<void> {
  const cart = await newPageCart(running);
  const cards = await typeCards(running, payment);
  await passesExactly(running, typedPasses[payment], () => insistOnPage(() => payOnPage(cart, cards)));
  await expectStanding(running, cart.sessionId, [isDeclined(payment) ? unpaid : paid(cart, payment)]);
}

async function dieWhilePaying(
  running: RunningShop,
  payment: TypedPayment,
  retry: ShopperRetry,
  death: (paying: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  await running.eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newPageCart(running);
  const cards = await typeCards(running, payment);
  await death(() => payOnPage(cart, cards));

  const good = payment.startsWith('two') ? 'two cards' : 'one card';
  if (retry === 'the same cards') await payAgain(cart, cards);
  if (retry === 'other cards') await payAgain(cart, await typeCards(running, good));
  const { state } = await reloadPage(cart);
  await booksAgree(running.eligo);
  const isPaid = retry === 'other cards' || !isDeclined(payment);
  await expectStanding(running, cart.sessionId, [isPaid ? paid(cart, good) : unpaid]);
  if (state !== (isPaid ? 'complete' : 'open')) throw new Error(`the page says ${state}`);
}

function paid({ eligibleCents, totalCents }: PageCart, payment: TypedPayment): Standing {
  const taken = payment.startsWith('two') ? [eligibleCents, totalCents - eligibleCents] : [totalCents];
  return { status: 'complete', received: totalCents, taken };
}

function isDeclined(payment: TypedPayment): boolean {
  return payment.endsWith('declined');
}

async function typeCards(running: RunningShop, payment: TypedPayment): Promise<TypedCards> {
  const other = await typeCard(running, isDeclined(payment) ? 'declined' : 'credit');
  return payment.startsWith('two') ? { health: await typeCard(running, 'hsa'), other } : { other };
}

function payAgain(cart: PageCart, cards: TypedCards): Promise<void> {
  return insistOnPayment(() => payOnPage(cart, cards));
}
