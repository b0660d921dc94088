import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelByPartner } from '../src/actions/end-by-partner.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { followHolds } from '../src/jobs/follow-holds.ts';
import { nextHoldInMs } from '../src/store/holds.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { start } from './fixture.ts';
import { lettersFixture } from './letters-fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.clock.set(start));
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
  // What one test leaves held is not due in the next one.
  await fixture.test.admin(
    "update checkout.payment_intents set hold_check_at = '2999-01-01' where status = 'requires_capture'",
  );
});

const hour = 3_600_000;
const type = 'payment_intent.hold_will_lapse';

/** The job, until it has nothing more to do. */
async function follow(): Promise<void> {
  const job = followHolds(fixture.context);
  for (let run = 0; run < 10; run++) {
    if ((await job.run(new AbortController().signal)) !== true) return;
  }
  throw new Error('The job does not come to an end');
}

const intentsOf = async (session: Session) =>
  findIntents(fixture.database, fixture.scope, (await fixture.reload(session)).paymentIntentIds);
const lapsesAt = async (session: Session) =>
  Math.min(...(await intentsOf(session)).map(({ captureBefore }) => captureBefore?.getTime() ?? Number.NaN));
/** Sets the clock to this long before the first hold of a session lapses. */
const setClockBefore = async (session: Session, ms: number) =>
  fixture.clock.set(new Date((await lapsesAt(session)) - ms));
const announced = async (session: Session) => (await fixture.told(session))[type] ?? 0;

describe('a hold that the shop has not captured', () => {
  it('is announced once, a day before it lapses, with the time and the amount, and not sooner [D14.363]', async () => {
    const session = await fixture.heldOnOneCard();
    await setClockBefore(session, 24 * hour + 2_000);
    await follow();
    expect(await announced(session)).toBe(0);
    // The job sleeps until then.
    expect(await nextHoldInMs(fixture.database, fixture.clock.now())).toBeLessThanOrEqual(2_000);
    await setClockBefore(session, 24 * hour);
    await follow();
    await follow();
    expect(await fixture.told(session)).toMatchObject({ [type]: 1 });
    const [intent] = await intentsOf(session);
    const [row] = await fixture.test.admin<{ payload: Buffer }>(
      'select payload from checkout.outbox where type = $1 and aggregate_id = $2',
      [type, intent?.id],
    );
    const { object, testMode } = fromBinary(EventSchema, row?.payload as Buffer);
    expect([object.case, testMode]).toEqual(['paymentIntent', true]);
    expect(object.value).toMatchObject({
      ...{ paymentIntentId: intent?.id, checkoutSessionId: session.id, status: 'requires_capture' },
      ...{ amountCents: 6_000n, captureBeforeMs: BigInt(await lapsesAt(session)) },
    });
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid' });
  });

  it('is announced for each card of its session, and the session still ends an hour before [D14.176, D14.363]', async () => {
    const session = await fixture.held();
    await setClockBefore(session, 12 * hour);
    await follow();
    expect(await announced(session)).toBe(2);
    await setClockBefore(session, hour - 2_000);
    await follow();
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled' });
    expect(await fixture.told(session)).toMatchObject({ [type]: 2, 'checkout.session.expired': 1 });
    await fixture.booksAgree(session);
  });

  it('can be captured after its announcement [D14.363]', async () => {
    const session = await fixture.heldOnOneCard();
    await setClockBefore(session, 20 * hour);
    await follow();
    await fixture.capture(session);
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000 });
    expect(await announced(session)).toBe(1);
  });

  it('of which a part was captured is announced with what remains held [D14.363]', async () => {
    const session = await fixture.heldOnOneCard();
    await fixture.capture(session, { amount: 2_000 });
    await setClockBefore(session, 20 * hour);
    await follow();
    expect(await announced(session)).toBe(1);
  });

  it('is not announced again when an event of the processor has it looked at [D14.363]', async () => {
    const session = await fixture.heldOnOneCard();
    await setClockBefore(session, 20 * hour);
    await follow();
    await fixture.test.admin('update checkout.payment_intents set hold_check_at = now() where session_id = $1', [
      session.id,
    ]);
    await setClockBefore(session, 10 * hour);
    await follow();
    expect(await announced(session)).toBe(1);
    // The next look is the one that ends it.
    const [{ at }] = (await fixture.test.admin<{ at: Date }>(
      'select hold_check_at as at from checkout.payment_intents where session_id = $1',
      [session.id],
    )) as [{ at: Date }];
    expect((await lapsesAt(session)) - at.getTime()).toBe(hour);
  });
});

describe('nothing is announced', () => {
  it('of a hold that was captured or voided [D14.363]', async () => {
    const [captured, voided] = [await fixture.heldOnOneCard(), await fixture.heldOnOneCard()];
    const at = await lapsesAt(voided);
    await fixture.capture(captured);
    await cancelByPartner(fixture.context, fixture.scope, voided.id);
    fixture.clock.set(new Date(at - 12 * hour));
    await follow();
    expect([await announced(captured), await announced(voided)]).toEqual([0, 0]);
  });

  it('of a hold that Eligo captures itself after a letter, which the shop cannot capture [D14.363]', async () => {
    const session = await lettersFixture(fixture).held(undefined, {}, false);
    await setClockBefore(session, 20 * hour);
    await follow();
    expect(await announced(session)).toBe(0);
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid' });
  });

  it('while the processor does not answer, and then once [D14.363]', async () => {
    const session = await fixture.heldOnOneCard();
    await setClockBefore(session, 24 * hour);
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'error_before', times: 1 });
    await follow();
    expect(await announced(session)).toBe(0);
    fixture.clock.set(new Date(fixture.clock.now().getTime() + 5 * 60_000));
    await follow();
    expect(await announced(session)).toBe(1);
  });
});

describe('a process that dies when it announces a hold', () => {
  const places: readonly ChargeFailpoint[] = [
    'follow_hold.claimed',
    'follow_hold.processor_answered',
    'follow_hold.before_announce_commit',
    'follow_hold.announced',
  ];
  it.each(places)('at %s, tells the shop once all the same [D14.363]', async (place) => {
    const session = await fixture.heldOnOneCard();
    await setClockBefore(session, 20 * hour);
    turnFailpointsOn();
    armFailpoint(place, { action: 'error' });
    await follow();
    turnFailpointsOff();
    expect(await announced(session)).toBe(place === 'follow_hold.announced' ? 1 : 0);
    fixture.clock.set(new Date(fixture.clock.now().getTime() + 5 * 60_000));
    await follow();
    await follow();
    expect(await announced(session)).toBe(1);
  });
});
