import { openProcessors } from '@eligo/processor';
import { waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, records, text } from '../records.ts';
import type { WallClock } from '../renewals/wall-clock.ts';
import type { HoldCrash } from './hold-crashes.ts';
import { insistOnPage, newPageCart, payOnPage, reloadPage, typeCard } from './page-shopper.ts';
import { recovered } from './run-confirm-crash.ts';
import type { RunningShop } from './running-shop.ts';
import { expectStanding, standingOf } from './standing-of.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
// The job looks at all that is due within a minute.
const patience = { withinMs: 150_000, everyMs: 200 };

/**
 * Has a hold of two canceled at the processor, which says so, and the process die while it follows the hold: the session is canceled, the other card's hold is voided,
 * and nothing was taken.
 */
export async function runGoneHoldCrash(running: RunningShop, { failpoint }: HoldCrash): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const sessionId = await heldOnTwoCards(running);
  await eligo.armFailpoint('checkout', failpoint, { action: 'kill' });
  await cancelHealthHold(running, sessionId);
  await whileLookedAtAgain(running, sessionId, recovered(running, failpoint));
  await standsAs(running, sessionId, 'canceled, received 0, taken nothing, held nothing');
  await booksAgree(eligo);
}

/**
 * Lets days pass until a hold is announced or ended, and has the process die there: the shop is told once, and can still end the session; or the session is
 * canceled, and its hold voided.
 */
export async function runDatedHoldCrash(
  running: RunningShop,
  { end, failpoint }: HoldCrash,
  wallClock: WallClock,
): Promise<void> {
  const { api, eligo } = running;
  // By the clock of the processor, which does not move, so that a hold lasts as long as it says.
  wallClock.setRight();
  const sessionId = await heldOnOneCard(running);
  const [held = ''] = await heldIntents(running, sessionId);
  const before = await standingOf(running, sessionId);
  const leadMs = { gone: 0, announced: 23 * hourMs, ends: hourMs / 2 }[end];
  await eligo.armFailpoint('checkout', failpoint, { action: 'kill' });
  wallClock.advanceTo(new Date((await captureBefore(running, sessionId)).getTime() - leadMs));
  // What a dead process had taken up is looked at again some minutes later.
  await whileLookedAtAgain(running, sessionId, recovered(running, failpoint));
  if (end === 'ends') {
    await standsAs(running, sessionId, 'canceled, received 0, taken nothing, held nothing');
    return void (await booksAgree(eligo));
  }
  const told = async () =>
    records(await api.ok('GET', '/v1/events?limit=100&event_type=payment_intent.hold_will_lapse'), 'events').filter(
      ({ object }) => JSON.stringify(object).includes(held),
    ).length;
  await waitUntil(async () => (await told()) > 0, { ...patience, what: 'the announcement' });
  await booksAgree(eligo);
  if ((await told()) !== 1) throw new Error(`the lapse of ${held} was announced ${await told()} times`);
  await standsAs(running, sessionId, before);
  await api.ok('POST', `/v1/checkout/sessions/${sessionId}/cancel`, {});
  await booksAgree(eligo);
  await expectStanding(running, sessionId, [{ status: 'canceled', received: 0, taken: [] }]);
}

async function standsAs(running: RunningShop, sessionId: string, line: string): Promise<void> {
  let seen = '';
  const stands = async () => {
    seen = await standingOf(running, sessionId);
    return seen === line;
  };
  await waitUntil(stands, { ...patience, what: `a session that is ${line}` }).catch((error: unknown) => {
    throw new Error(`${sessionId} is ${seen}`, { cause: error });
  });
}

async function heldOnTwoCards(running: RunningShop): Promise<string> {
  const cart = await newPageCart(running, { capture_method: 'manual' });
  const cards = { health: await typeCard(running, 'hsa'), other: await typeCard(running, 'credit') };
  await insistOnPage(() => payOnPage(cart, cards));
  await reloadPage(cart);
  const { eligibleCents: health, totalCents } = cart;
  await expectStanding(running, cart.sessionId, [
    { status: 'paid', received: 0, taken: [], held: [health, totalCents - health] },
  ]);
  return cart.sessionId;
}

async function heldOnOneCard(running: RunningShop): Promise<string> {
  const cart = await newPageCart(running, { capture_method: 'manual' });
  const other = await typeCard(running, 'credit');
  await insistOnPage(() => payOnPage(cart, { other }));
  await reloadPage(cart);
  await expectStanding(running, cart.sessionId, [{ status: 'paid', received: 0, taken: [], held: [cart.totalCents] }]);
  return cart.sessionId;
}

async function heldIntents({ api }: RunningShop, sessionId: string): Promise<string[]> {
  const session = record(await api.ok('GET', `/v1/checkout/sessions/${sessionId}`), 'checkout_session');
  const listed = records(await api.ok('GET', `/v1/payment_intents?checkout_session=${sessionId}`), 'payment_intents');
  const own = listed.filter((intent: Json) => intent.status === 'requires_capture');
  if (session.status !== 'paid') throw new Error(`${sessionId} is ${session.status}`);
  return own.map((intent) => text(intent, 'payment_intent_id'));
}

async function captureBefore({ eligo }: RunningShop, sessionId: string): Promise<Date> {
  const [row] = await eligo.database.admin<{ until: Date }>(
    "select min(capture_before) as until from checkout.payment_intents where session_id = $1 and status = 'requires_capture'",
    [sessionId],
  );
  if (row === undefined) throw new Error('nothing is held');
  return row.until;
}

// As if five minutes had passed, again and again.
async function whileLookedAtAgain({ eligo }: RunningShop, sessionId: string, coming: Promise<void>): Promise<void> {
  let isOver = false;
  const over = coming.finally(() => {
    isOver = true;
  });
  const passing = async () => {
    await eligo.database.admin(
      `update checkout.payment_intents set hold_check_at = least(hold_check_at, now())
       where session_id = $1 and status = 'requires_capture'`,
      [sessionId],
    );
    return isOver;
  };
  await Promise.all([over, waitUntil(passing, { withinMs: 120_000, everyMs: 100, what: 'that all is up again' })]);
}

async function cancelHealthHold({ eligo, account }: RunningShop, sessionId: string): Promise<void> {
  const [hold] = await eligo.database.admin<{ processor_intent_id: string }>(
    "select processor_intent_id from checkout.charge_attempts where subject_id = $1 and leg = 'health'",
    [sessionId],
  );
  if (hold === undefined) throw new Error('there is no hold');
  const { url, key } = eligo.processor;
  const processors = openProcessors({ ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: key });
  try {
    const processor = processors.of({ accountId: account, testMode: true });
    const canceled = await processor.cancelIntent(hold.processor_intent_id, { idempotencyKey: sessionId });
    if (canceled.kind !== 'canceled') throw new Error(`the hold is ${canceled.kind}`);
  } finally {
    processors.close();
  }
}
