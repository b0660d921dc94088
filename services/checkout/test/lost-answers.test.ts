import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());

const inUse = { code: 'idempotency_key_in_use' };

describe('a confirmation whose answer was lost', () => {
  it('is read when it was a decline, and the card is not asked again', async () => {
    const card = await world.card('insufficient_funds');
    const session = await world.mixedSession(card);
    await world.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(world.confirm(session, card, { key: 'read' })).rejects.toMatchObject(inUse);
    const readsOnly = world.chargingWith(() => ({ confirmIntent: () => Promise.reject(new Error('asked again')) }));
    await expect(world.confirm(session, card, { key: 'read' }, readsOnly)).rejects.toMatchObject({
      status: 402,
      declineCode: 'insufficient_funds',
    });
  });

  it('makes a later refusal final only with its intent canceled: what is still on its way cannot charge', async () => {
    const card = await world.card('hsa');
    const session = await world.mixedSession(card);
    await world.fault({ call: 'payment_intents.confirm', kind: 'late', delay_ms: 60_000, times: 1 });
    await expect(world.confirm(session, card, { key: 'late' })).rejects.toMatchObject(inUse);
    const said = { code: 'card_declined', declineCode: 'do_not_honor', chargeId: undefined };
    const declining = world.chargingWith(() => ({ confirmIntent: async () => ({ kind: 'declined', ...said }) }));
    await expect(world.confirm(session, card, { key: 'late' }, declining)).rejects.toMatchObject({ status: 402 });
    const [attempt] = await world.test.admin<{ status: string; processor_intent_id: string }>(
      'select status, processor_intent_id from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    expect(attempt?.status).toBe('declined');
    const processor = world.charging.processors.of(world.scope);
    expect(await processor.retrieveIntent(attempt?.processor_intent_id ?? '')).toMatchObject({ kind: 'canceled' });
  });
});
