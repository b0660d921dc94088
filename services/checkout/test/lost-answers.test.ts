import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptProcessorEvent } from '../src/actions/accept-processor-event.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const inUse = { code: 'idempotency_key_in_use' };

describe('an unknown outcome', () => {
  const faults = ['error_before', 'error_after', 'drop_before', 'drop_after', 'in_progress'];

  it.each(faults)(
    '%s on the confirmation converges to one charge by a retry with the same key [CONF-5]',
    async (kind) => {
      const card = await fixture.card('hsa');
      const session = await fixture.mixedSession(card);
      await fixture.fault({ call: 'payment_intents.confirm', kind, times: 1 });
      await expect(fixture.confirm(session, card, { key: kind })).rejects.toMatchObject(inUse);
      await fixture.lapseLeases();
      expect((await fixture.confirm(session, card, { key: kind })).session?.status).toBe('complete');
      expect(await fixture.charges(session)).toHaveLength(1);
    },
  );

  it.each([...faults, 'late'])(
    '%s on the confirmation converges to one charge by the sweeper when the client gives up',
    async (kind) => {
      const card = await fixture.card('hsa');
      const session = await fixture.mixedSession(card);
      await fixture.fault({ call: 'payment_intents.confirm', kind, delay_ms: 300, times: 1 });
      await expect(fixture.confirm(session, card)).rejects.toMatchObject(inUse);
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
      expect((await loadSession(fixture.database, fixture.scope, session.id))?.status).toBe('complete');
      expect(await fixture.charges(session)).toHaveLength(1);
    },
  );

  it.each(['error_before', 'drop_after'])(
    '%s on the creation holds no money, and the next use of the key makes it again',
    async (kind) => {
      const card = await fixture.card('hsa');
      const session = await fixture.mixedSession(card);
      await fixture.fault({ call: 'payment_intents.create', kind, times: 1 });
      await expect(fixture.confirm(session, card, { key: `create ${kind}` })).rejects.toMatchObject(inUse);
      expect((await fixture.confirm(session, card, { key: `create ${kind}` })).session?.status).toBe('complete');
      expect(await fixture.charges(session)).toHaveLength(1);
    },
  );

  it('a late confirmation cannot charge after a decline was settled', async () => {
    const card = await fixture.card('insufficient_funds');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'late', delay_ms: 500, times: 1 });
    await expect(fixture.confirm(session, card, { key: 'late decline' })).rejects.toMatchObject(inUse);
    await fixture.lapseLeases();
    await expect(fixture.confirm(session, card, { key: 'late decline' })).rejects.toMatchObject({ status: 402 });
    const good = await fixture.card('hsa', { customerId: card.customerId });
    expect((await fixture.confirm(session, good)).session?.status).toBe('complete');
    const charged = (await fixture.charges(session)).filter((charge) => charge.status === 'succeeded');
    expect(charged).toHaveLength(1);
  });
});

describe('a confirmation whose answer was lost', () => {
  it('is read when it was a decline, and the card is not asked again', async () => {
    const card = await fixture.card('insufficient_funds');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(session, card, { key: 'read' })).rejects.toMatchObject(inUse);
    const readsOnly = fixture.contextWith(() => ({ confirmIntent: () => Promise.reject(new Error('asked again')) }));
    await expect(fixture.confirm(session, card, { key: 'read' }, readsOnly)).rejects.toMatchObject({
      status: 402,
      declineCode: 'insufficient_funds',
    });
  });

  it('makes a later refusal final only with its intent canceled: what is still on its way cannot charge', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'late', delay_ms: 60_000, times: 1 });
    await expect(fixture.confirm(session, card, { key: 'late' })).rejects.toMatchObject(inUse);
    const said = { code: 'card_declined', declineCode: 'do_not_honor', chargeId: undefined };
    const declining = fixture.contextWith(() => ({ confirmIntent: async () => ({ kind: 'declined', ...said }) }));
    await expect(fixture.confirm(session, card, { key: 'late' }, declining)).rejects.toMatchObject({ status: 402 });
    const [attempt] = await fixture.test.admin<{ status: string; processor_intent_id: string }>(
      'select status, processor_intent_id from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    expect(attempt?.status).toBe('declined');
    const processor = fixture.context.processors.of(fixture.scope);
    expect(await processor.retrieveIntent(attempt?.processor_intent_id ?? '')).toMatchObject({ kind: 'canceled' });
  });
});

describe('an event of the processor', () => {
  const arrives = (objectId: string, eventId: string) =>
    acceptProcessorEvent(fixture.context, fixture.scope, {
      ...{ processor: 'sandbox', eventId, type: 'payment_intent.succeeded', objectId, createdAt: new Date() },
    });
  const attemptOf = async ({ id }: { id: string }) => {
    const [attempt] = await fixture.test.admin<{ status: string; processor_intent_id: string; is_due: boolean }>(
      'select status, processor_intent_id, next_check_at <= now() as is_due from checkout.charge_attempts where subject_id = $1',
      [id],
    );
    if (attempt === undefined) throw new Error('The session has no attempt');
    return attempt;
  };

  it('has an unsettled charge looked up now, settles nothing itself, and is stored once [D14.120]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card, { key: 'event' })).rejects.toMatchObject(inUse);
    await fixture.test.admin(
      `update checkout.charge_attempts set next_check_at = now() + interval '1 hour' where subject_id = $1`,
      [session.id],
    );
    const { processor_intent_id: intent } = await attemptOf(session);
    for (const _ of [1, 2]) await arrives(intent, `evt_${session.id}`);
    expect(await attemptOf(session)).toMatchObject({ status: 'unknown', is_due: true });
    const stored = 'select id from checkout.processor_events where object_id = $1';
    expect(await fixture.test.admin(stored, [intent])).toEqual([{ id: `evt_${session.id}` }]);
    await fixture.clearFaults();
    await sweepCharges(fixture.context);
    expect(await attemptOf(session)).toMatchObject({ status: 'succeeded' });
    expect(await fixture.charges(session)).toHaveLength(1);
    // Of a charge that is settled, or of no charge of ours, it changes nothing.
    await arrives(intent, `evt_later_${session.id}`);
    await arrives('pi_of_somebody_else', `evt_other_${session.id}`);
    expect(await fixture.charges(session)).toHaveLength(1);
  });
});
