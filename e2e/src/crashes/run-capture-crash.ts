import { randomUUID } from 'node:crypto';
import type { ApiAnswer } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, records } from '../records.ts';
import type { CaptureCrash, CaptureKind } from './capture-crashes.ts';
import { insistOnPage, newPageCart, type PageCart, payOnPage, reloadPage, typeCard } from './page-shopper.ts';
import { passesExactly } from './passes-of.ts';
import { type Retry, recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';
import { expectStanding, standingOf } from './standing-of.ts';
import { unlessBroken } from './unless-broken.ts';
import { untilAnswered } from './until-answered.ts';

/** From here on a capture is requested: it is carried out though nobody asks again. */
const requestedFrom = new Set([
  ...['capture.claimed', 'capture.key_released'],
  ...['hold.processor_answered', 'hold.before_record_commit', 'hold.recorded'],
]);

/**
 * Captures what a shopper's cards hold, has the process die there, and holds what becomes of it against the model: one key captures once, and has one answer ever
 * after. What was requested is captured without a retry, what was not is not; another key is another capture. What ends is released.
 */
export async function runCaptureCrash(running: RunningShop, crash: CaptureCrash, retry: Retry): Promise<void> {
  const { eligo } = running;
  const { kind, failpoint, skip } = crash;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await heldFor(running, kind);
  const key = randomUUID();
  if (crash.isAnswerLost) {
    for (const call of ['payment_intents.capture', 'payment_intents.retrieve']) {
      await eligo.sandbox('POST', '/sandbox/faults', { fault: { call, kind: 'drop_after' } });
    }
  }
  await eligo.armFailpoint('checkout', failpoint, { action: 'kill', skip });
  await Promise.all([ask(running, cart, kind, key), recovered(running, failpoint)]);

  const isRequested = requestedFrom.has(failpoint);
  if (retry === 'same key') expectStatus(await insist(running, cart, kind, key), 200);
  if (retry === 'another key') {
    const isOver = isRequested && !leavesAHold(kind);
    expectStatus(await insist(running, cart, kind, randomUUID()), isOver ? 400 : 200);
  }
  await booksAgree(eligo);
  const made = (isRequested || retry === 'same key' ? 1 : 0) + (retry === 'another key' ? 1 : 0);
  await expectCaptured(running, cart, kind, leavesAHold(kind) ? made : Math.min(made, 1));

  // The first key's own capture is made by now, or was never: whoever comes back late makes it then, unless nothing is left.
  const isOver = made > 0 && !isRequested && retry === 'another key' && !leavesAHold(kind);
  const late = [await insist(running, cart, kind, key), await insist(running, cart, kind, key)];
  for (const answer of late) expectStatus(answer, isOver ? 400 : 200);
  if (late[0]?.text !== late[1]?.text) throw new Error(`the key has two answers: ${late.map((one) => one.text)}`);
  await booksAgree(eligo);
  const all = 1 + (retry === 'another key' ? 1 : 0);
  await expectCaptured(running, cart, kind, leavesAHold(kind) ? all : 1);
}

/** Throws unless a capture that nothing disturbs passes each failpoint as often as the list says, and no other one. */
export async function passesCapture(running: RunningShop, kind: CaptureKind): Promise<void> {
  const cart = await heldFor(running, kind);
  await passesExactly(running, kind.passes, () => insist(running, cart, kind, randomUUID()));
  await expectCaptured(running, cart, kind, 1);
}

async function heldFor(running: RunningShop, kind: CaptureKind): Promise<PageCart> {
  const cart = await newPageCart(running, { capture_method: 'manual' });
  const other = await typeCard(running, 'credit');
  const cards = kind.cards === 'one' ? { other } : { health: await typeCard(running, 'hsa'), other };
  await insistOnPage(() => payOnPage(cart, cards));
  await reloadPage(cart);
  const parts = { cards: kind.cards, amount: kind.before ?? 0 };
  if (kind.before !== undefined) expectStatus(await insist(running, cart, parts, randomUUID()), 200);
  await booksAgree(running.eligo);
  await expectCaptured(running, cart, parts, kind.before === undefined ? 0 : 1, 0);
  return cart;
}

type Parts = Pick<CaptureKind, 'cards' | 'amount' | 'isFinal' | 'before'>;

function leavesAHold({ amount, isFinal = false }: Parts): boolean {
  return amount !== undefined && !isFinal;
}

// The answer, or undefined when the connection broke.
function ask(
  { api }: RunningShop,
  { sessionId }: PageCart,
  { amount, isFinal }: Parts,
  key: string,
): Promise<ApiAnswer | undefined> {
  const body: Json = {
    ...(amount === undefined ? {} : { amount }),
    ...(isFinal === undefined ? {} : { final_capture: isFinal }),
  };
  const path = `/v1/checkout/sessions/${sessionId}/capture`;
  return unlessBroken(() => api.post(path, { checkout_session: body }, { idempotencyKey: key }));
}

function insist(running: RunningShop, cart: PageCart, parts: Parts, key: string): Promise<ApiAnswer> {
  const what = 'an answer to the capture';
  return untilAnswered(() => ask(running, cart, parts, key), { what, withinMs: 60_000 });
}

function expectStatus({ status, body, text }: ApiAnswer, wanted: number): void {
  if (status !== wanted) throw new Error(`expected ${wanted}, a capture was answered ${status} ${text}`);
  if (wanted === 400 && body.code !== 'checkout_session_already_processed') throw new Error(`refused as ${text}`);
}

// So many captures of this kind, after the one before it; each card gives its share, and what is final leaves nothing held.
async function expectCaptured(
  running: RunningShop,
  cart: PageCart,
  kind: Parts,
  count: number,
  before = kind.before ?? 0,
): Promise<void> {
  const { api } = running;
  const { sessionId, eligibleCents, totalCents } = cart;
  const each = kind.amount ?? totalCents - before;
  const received = before + count * each;
  const isOver = count > 0 && !leavesAHold(kind);
  const cards = kind.cards === 'one' ? [totalCents] : [eligibleCents, totalCents - eligibleCents];
  const taken = shareOf(received, cards);
  await expectStanding(running, sessionId, [
    {
      ...{ status: isOver ? 'complete' : 'paid', received, taken: taken.filter((cents) => cents > 0) },
      held: isOver ? [] : cards.map((cents, card) => cents - (taken[card] ?? 0)).filter((cents) => cents > 0),
    },
  ]);
  const captures = records(await api.ok('GET', `/v1/captures?checkout_session=${sessionId}`), 'captures');
  const seen = captures.map((capture) => capture.amount_captured);
  const wanted = [...Array.from({ length: count }, () => each), ...(before > 0 ? [before] : [])];
  if (seen.join() !== wanted.join()) {
    throw new Error(`${await standingOf(running, sessionId)}, captures ${seen}; the model has ${wanted}`);
  }
}

// In proportion to what was held, to the cent.
function shareOf(received: number, [first = 0, second]: readonly number[]): number[] {
  if (second === undefined) return [received];
  const own = Math.round((received * first) / (first + second));
  return [own, received - own];
}
