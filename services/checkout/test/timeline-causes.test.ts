import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelByPartner, cancelByShopper } from '../src/actions/end-by-partner.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findPendingAuthentication } from '../src/store/authentications.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findAskedSetUp } from '../src/store/set-up-authentications.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, start } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.clock.set(start));

const asking = 'tok_authenticationRequired';
async function pay(session: Session, token: string): Promise<Session> {
  return completeWithCards(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: await fixture.confirmationToken(token), secondPaymentMethod: undefined },
    ...{ slot: 'other', shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
}
const guest = () => fixture.session({ lines: [line({ unitAmount: 2_000 })] });
async function setUp(): Promise<Session> {
  const { customerId } = await fixture.card('credit');
  return fixture.session({ mode: 'setup', lines: [], customerId });
}
async function sweep(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
  }
}
// Oldest first.
async function timelineOf({ id }: Session) {
  const timeline = await readSessionTimeline(fixture.database, fixture.scope, id);
  return timeline?.entries.toReversed() ?? expect.fail('There is no timeline');
}

describe('the timeline of a session tells', () => {
  it('that the bank asked the shopper, who walked away: nothing was charged [D14.378]', async () => {
    const session = await guest();
    await pay(session, asking);
    const asked = (await timelineOf(session)).at(-1);
    expect(asked).toMatchObject({
      ...{ type: 'payment.authentication_requested', at: start, amountCents: 2_000, code: null },
      recordId: expect.stringMatching(/^fpi_/),
    });
    const { attemptId = '' } = (await findPendingAuthentication(fixture.database, fixture.scope, session.id)) ?? {};
    await fixture.test.admin('update checkout.charge_attempts set confirm_until = now() where id = $1', [attemptId]);
    await sweep();
    const entries = await timelineOf(session);
    expect(entries.map(({ type }) => type)).toEqual([
      ...['session.created', 'payment.created', 'payment.authentication_requested', 'payment.failed'],
    ]);
    expect(entries.at(-1)).toMatchObject({ code: 'authentication_required' });
  });

  it('that a charge was not confirmed in time, with its code [D14.378]', async () => {
    const session = await guest();
    await pay(session, asking);
    await fixture.test.admin(
      `update checkout.charge_attempts set status = 'abandoned', failure_code = 'canceled_late', created_at = now() - interval '3 minutes',
         confirm_until = now() where subject_id = $1`,
      [session.id],
    );
    expect((await timelineOf(session)).at(-1)).toMatchObject({
      ...{ type: 'payment.abandoned', code: 'authentication_not_completed', amountCents: 2_000 },
      at: new Date(start.getTime() + 180_000),
    });
    await fixture.test.admin('delete from checkout.authentications where session_id = $1', [session.id]);
    expect((await timelineOf(session)).at(-1)).toMatchObject({ type: 'payment.abandoned', code: 'canceled_late' });
    await fixture.test.admin('update checkout.charge_attempts set sends = 0 where subject_id = $1', [session.id]);
    expect((await timelineOf(session)).find(({ type }) => type === 'payment.abandoned')).toMatchObject({
      ...{ code: 'not_sent', at: start },
    });
  });

  it('that a card could not be saved, and why: refused, not authenticated, or left for another one [D14.378]', async () => {
    const session = await setUp();
    await pay(session, 'tok_chargeDeclinedInsufficientFunds');
    await pay(session, asking);
    const { setupIntentId = null } = (await loadSession(fixture.database, fixture.scope, session.id)) ?? {};
    const asked = await findAskedSetUp(fixture.database, fixture.scope, setupIntentId);
    await fixture.context.processors
      .of(fixture.scope)
      .testBank?.authenticate(asked?.processorSetupIntentId ?? '', false);
    await resumeAuthentication(fixture.context, fixture.scope, session.id, false);
    await pay(session, asking);
    expect((await pay(session, 'tok_visa')).status).toBe('complete');
    const failures = (await timelineOf(session)).filter(({ type }) => type === 'setup.failed');
    expect(failures.map(({ recordId }) => recordId)).toEqual(failures.map(() => setupIntentId));
    const codes = failures.map(({ code, declineCode }) => declineCode ?? code).toSorted();
    expect(codes).toEqual(['authentication_required', 'insufficient_funds', 'setup_intent_authentication_failure']);
  });

  it.each([
    ['the shopper', cancelByShopper, 'canceled_by_shopper'],
    ['the partner', cancelByPartner, 'canceled_by_partner'],
  ])('that %s canceled it [D14.378]', async (_who, cancel, code) => {
    const session = await guest();
    await cancel(fixture.context, fixture.scope, session.id);
    expect((await timelineOf(session)).at(-1)).toMatchObject({ type: 'session.canceled', code });
  });

  it('no canceler for a session that an earlier release canceled [D14.378]', async () => {
    const session = await guest();
    await cancelByPartner(fixture.context, fixture.scope, session.id);
    await fixture.test.admin('delete from checkout.session_cancellations where session_id = $1', [session.id]);
    expect((await timelineOf(session)).at(-1)).toMatchObject({ type: 'session.canceled', code: null });
  });
});
