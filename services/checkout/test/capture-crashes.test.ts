import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { type CaptureParts, type CapturesFixture, openCapturesFixture, refusal } from './captures-fixture.ts';
import { faultMatrixTests } from './fault-matrix.ts';
import { shortBudgets } from './fixture.ts';
import { pageFaultTests } from './page-faults.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
});

// What the request of a process that dies ended in does not matter.
const settled = (action: Promise<unknown>) =>
  action.then(
    () => undefined,
    (error: unknown) => error,
  );
const part: CaptureParts = { amount: 2_000, key: 'crashed' };

// Whatever happened, the same key gives the same answer ever after, and each card is captured by exactly what the captures say.
async function converges(session: Session, asked: CaptureParts, received: number): Promise<void> {
  const answer = await fixture.capture(session, asked);
  expect(answer).toMatchObject({ amountReceivedCents: BigInt(received), captureIds: [expect.any(String)] });
  expect(await fixture.capture(session, asked)).toEqual(answer);
  await fixture.sweepAll();
  await fixture.booksAgree(session);
  expect(await fixture.reload(session)).toMatchObject({ amountReceivedCents: received });
}

/** Each place at which a capture's process may die, and whether the capture was requested by then. */
const crashes: readonly [ChargeFailpoint, skip: number, requested: boolean][] = [
  ['capture.before_claim', 0, false],
  ['capture.key_claimed', 0, false],
  ['capture.before_claim_commit', 0, false],
  ['capture.claimed', 0, true],
  ['hold.processor_answered', 0, true],
  ['hold.before_record_commit', 0, true],
  ['hold.recorded', 0, true],
  ['hold.processor_answered', 1, true],
  ['hold.before_record_commit', 1, true],
  ['hold.recorded', 1, true],
];

// Each of them once: a capture of everything on one card has one claim and one settlement.
const crashesOfOneCard = crashes.filter(([, skip]) => skip === 0);

describe('a process that dies during a capture', () => {
  it.each(crashesOfOneCard)(
    'of one card at %s, pass %i, captures once for the same key [D14.103]',
    async (failpoint) => {
      const session = await fixture.heldOnOneCard();
      turnFailpointsOn();
      armFailpoint(failpoint, { action: 'error' });
      await settled(fixture.capture(session, { key: 'crashed' }));
      turnFailpointsOff();
      await fixture.lapseLeases();
      await converges(session, { key: 'crashed' }, 6_000);
      expect(await fixture.reload(session)).toMatchObject({ status: 'complete' });
    },
  );

  it.each(crashes)('at %s, pass %i, captures once for the same key [D14.103]', async (failpoint, skip) => {
    const session = await fixture.held();
    // A part of both cards: nothing but its records says whether it was captured.
    turnFailpointsOn();
    armFailpoint(failpoint, { action: 'error', skip });
    await settled(fixture.capture(session, part));
    turnFailpointsOff();
    await fixture.lapseLeases();
    await converges(session, part, 2_000);
    expect(await fixture.reload(session)).toMatchObject({ status: 'paid' });
  });

  it.each(crashes)(
    'at %s, pass %i, leaves all or nothing without a retry [D14.103]',
    async (failpoint, skip, requested) => {
      const session = await fixture.held();
      turnFailpointsOn();
      armFailpoint(failpoint, { action: 'error', skip });
      await settled(fixture.capture(session, { key: 'crashed' }));
      turnFailpointsOff();
      await fixture.sweepAll();
      await fixture.booksAgree(session);
      expect(await fixture.reload(session)).toMatchObject(
        requested ? { status: 'complete', amountReceivedCents: 6_000 } : { status: 'paid', amountReceivedCents: 0 },
      );
      // Another key is another request: it finds the session captured, or captures it.
      const other = await settled(fixture.capture(session, { key: 'another' }));
      expect(other).toEqual(
        requested ? expect.objectContaining({ code: 'checkout_session_already_processed' }) : undefined,
      );
      expect((await fixture.atProcessor(session)).map(([, taken]) => taken)).toEqual([2_400, 3_600]);
    },
  );

  it('whose key was released by then answers the retry', async () => {
    const session = await fixture.held();
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_after', times: 1 });
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_after', times: 1 });
    turnFailpointsOn();
    armFailpoint('capture.key_released', { action: 'error' });
    await settled(fixture.capture(session, part));
    turnFailpointsOff();
    await converges(session, part, 2_000);
  });
});

pageFaultTests(() => fixture);
faultMatrixTests(() => fixture);

const kinds = ['error_before', 'error_after', 'drop_before', 'drop_after', 'in_progress', 'rate_limited'] as const;

describe('a capture whose calls to the processor fail', () => {
  it.each(kinds.flatMap((kind) => [true, false].map((isFinal) => [kind, isFinal] as const)))(
    'with %s takes each card once, final: %s [D14.103]',
    async (kind, isFinal) => {
      const session = await fixture.held();
      const asked = { ...part, isFinal };
      await fixture.fault({ call: 'payment_intents.capture', kind, times: 2 });
      await fixture.fault({ call: 'payment_intents.retrieve', kind, times: 1 });
      await settled(fixture.capture(session, asked));
      await fixture.sweepAll();
      await fixture.clearFaults();
      await converges(session, asked, 2_000);
      const held = (await fixture.atProcessor(session)).filter(([, , status]) => status === 'requires_capture');
      expect(held).toHaveLength(isFinal ? 0 : 2);
    },
  );

  it.each([true, false])(
    'that arrives late, after its caller stopped waiting, takes each card once, final: %s',
    async (isFinal) => {
      const session = await fixture.heldOnOneCard();
      const asked = { ...part, isFinal };
      await fixture.fault({ call: 'payment_intents.capture', kind: 'late', delay_ms: 100, times: 1 });
      await settled(fixture.capture(session, asked));
      // Sent again meanwhile, and again after the first has arrived, which nothing tells.
      await fixture.sweepAll();
      await new Promise((resolve) => setTimeout(resolve, 150));
      await converges(session, asked, 2_000);
    },
  );

  it('that times out is finished by the sweeper, and its key answers then [D14.103]', async () => {
    const session = await fixture.heldOnOneCard();
    // Longer than all calls of a request may take.
    await fixture.fault({ call: 'payment_intents.capture', kind: 'slow', delay_ms: 1_600, times: 1 });
    const hurried = { ...fixture.context, budgets: shortBudgets };
    expect(await refusal(fixture.capture(session, part, hurried))).toEqual([503, 'idempotency_key_in_use']);
    await fixture.sweepAll();
    await converges(session, part, 2_000);
  });

  it('that is declined ends the hold, so that nothing can still be captured, and the session [D14.29, D14.104]', async () => {
    const session = await fixture.heldOnOneCard();
    const declined = {
      kind: 'declined',
      code: 'card_declined',
      declineCode: 'lost_card',
      chargeId: undefined,
    } as const;
    const declining = fixture.contextWith((port) => ({
      captureIntent: async (id, input, call) =>
        input.amountCents === 0 ? port.captureIntent(id, input, call) : declined,
    }));
    const whole = { key: 'declined' };
    for (let count = 0; count < 2; count++) {
      expect(await refusal(fixture.capture(session, whole, declining))).toEqual([
        409,
        'checkout_session_not_capturable',
      ]);
    }
    expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
    expect(await fixture.atProcessor(session)).toEqual([[6_000, 0, 'canceled']]);
    await fixture.booksAgree(session);
  });

  it.each(['error_before', 'drop_after', 'rate_limited'] as const)(
    'with %s while it releases what is left of its cards ends both holds once [D14.101]',
    async (kind) => {
      const session = await fixture.held();
      const [health = ''] = await fixture.prices(session);
      await fixture.capture(session, { entries: [{ priceId: health, amount: 600 }] });
      for (const call of ['payment_intents.capture', 'payment_intents.cancel', 'payment_intents.retrieve']) {
        await fixture.fault({ call, kind, times: 1 });
      }
      expect(await fixture.capture(session, { amount: 0, isFinal: true })).toMatchObject({ status: 'complete' });
      await fixture.sweepAll();
      await fixture.clearFaults();
      await fixture.sweepAll();
      expect(await fixture.atProcessor(session)).toEqual([
        [2_400, 0, 'canceled'],
        [3_600, 600, 'succeeded'],
      ]);
      await fixture.booksAgree(session);
    },
  );
});
