import { afterAll, beforeAll, expect, it } from 'vitest';
import { settleAttempt } from '../src/actions/settle-attempt.ts';
import type { ProcessorVerdict } from '../src/domain/charge-attempt.ts';
import { liveAttempts } from '../src/store/charge-attempts.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const again: ProcessorVerdict[] = [
  { kind: 'succeeded', chargeId: 'ch_told_again', capturable: false },
  { kind: 'declined', code: 'card_declined', declineCode: undefined, chargeId: undefined },
];

it.each(again)(
  'what the processor said of an attempt is recorded once: $kind, told again, changes nothing',
  async (verdict) => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.confirm(session, card);
    const [attempt] = await liveAttempts(fixture.database, fixture.scope, 'session', session.id);
    if (attempt === undefined) throw new Error('an attempt');
    const [before, told] = [
      await loadSession(fixture.database, fixture.scope, session.id),
      await fixture.told(session),
    ];

    const settled = await settleAttempt(fixture.context, fixture.scope, attempt, verdict);
    expect(settled).toMatchObject({ attempt: { status: 'succeeded' }, intent: { amountReceivedCents: 4_000 } });
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toEqual(before);
    expect(await fixture.told(session)).toEqual(told);
    const charges = await fixture.test.admin('select 1 from checkout.charges where payment_intent_id = $1', [
      attempt.paymentIntentId,
    ]);
    expect(charges).toHaveLength(1);
  },
);
