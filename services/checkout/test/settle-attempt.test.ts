import { afterAll, beforeAll, expect, it } from 'vitest';
import { settleAttempt } from '../src/actions/settle-attempt.ts';
import type { ProcessorVerdict } from '../src/domain/charge-attempt.ts';
import { liveAttempts } from '../src/store/charge-attempts.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());

const again: ProcessorVerdict[] = [
  { kind: 'succeeded', chargeId: 'ch_told_again', capturable: false },
  { kind: 'declined', code: 'card_declined', declineCode: undefined, chargeId: undefined },
];

it.each(again)(
  'what the processor said of an attempt is recorded once: $kind, told again, changes nothing',
  async (verdict) => {
    const card = await world.card('hsa');
    const session = await world.mixedSession(card);
    await world.confirm(session, card);
    const [attempt] = await liveAttempts(world.database, world.scope, 'session', session.id);
    if (attempt === undefined) throw new Error('an attempt');
    const [before, told] = [await loadSession(world.database, world.scope, session.id), await world.told(session)];

    const settled = await settleAttempt(world.charging, world.scope, attempt, verdict);
    expect(settled).toMatchObject({ attempt: { status: 'succeeded' }, intent: { amountReceivedCents: 4_000 } });
    expect(await loadSession(world.database, world.scope, session.id)).toEqual(before);
    expect(await world.told(session)).toEqual(told);
    const charges = await world.test.admin('select 1 from checkout.charges where payment_intent_id = $1', [
      attempt.paymentIntentId,
    ]);
    expect(charges).toHaveLength(1);
  },
);
