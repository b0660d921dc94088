import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { importIssuerRanges } from '../src/actions/import-issuer-ranges.ts';
import { cardUpdated, refreshCard } from '../src/actions/refresh-card.ts';
import type { Context } from '../src/context.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let on: ChargingFixture;
beforeAll(async () => {
  on = await openChargingFixture();
});
afterAll(() => on.close());
afterEach(() => on.clearFaults());

const eventOf = (objectId: string, eventId = `evt_${randomUUID()}`) => ({
  ...{ processor: 'sandbox', eventId, type: cardUpdated, objectId, createdAt: new Date() },
});
const accept = (event: ReturnType<typeof eventOf>, context: Context = on.context) =>
  refreshCard(context, on.scope, event);
const cardOf = async (id: string) => (await findPaymentMethod(on.database, on.scope, id))?.card;
const commandsOf = (id: string) =>
  on.test.admin("select 1 from checkout.outbox where aggregate_id = $1 and type = 'command.card.updated'", [id]);
const isStored = async (eventId: string) =>
  (await on.test.admin('select 1 from checkout.processor_events where id = $1', [eventId])).length === 1;

describe('an event that the processor updated a card', () => {
  it('refreshes the card by what the processor says of it, and tells billing once [D14.234]', async () => {
    const { id, processorPaymentMethodId } = await on.card('declined');
    await on.replaceCard(processorPaymentMethodId, 'mastercard');
    const event = eventOf(processorPaymentMethodId);
    await Promise.allSettled([accept(event), accept(event)]);
    await accept(event);
    expect(await cardOf(id)).toMatchObject({ brand: 'mastercard', last4: '4444', expMonth: 12, hsaFsa: false });
    expect(await commandsOf(id)).toHaveLength(1);
  });

  it('takes the word of the processor on what the card is, and keeps the earlier word where it has none [D14.234]', async () => {
    const { id, processorPaymentMethodId } = await on.card('credit');
    await on.replaceCard(processorPaymentMethodId, 'hsa');
    await accept(eventOf(processorPaymentMethodId));
    expect(await cardOf(id)).toMatchObject({ last4: '0072', hsaFsa: true, hsaFsaSource: 'processor' });
    await on.replaceCard(processorPaymentMethodId, 'undescribed');
    await accept(eventOf(processorPaymentMethodId));
    expect(await cardOf(id)).toMatchObject({ last4: '0014', hsaFsa: true, hsaFsaSource: 'processor' });
  });

  it('keeps what a stronger source said of the card, and takes the word of an equal or stronger one [D14.71, D14.234]', async () => {
    const { id, processorPaymentMethodId } = await on.card('credit');
    const refresh = async (scenario: string) => {
      await on.replaceCard(processorPaymentMethodId, scenario);
      await accept(eventOf(processorPaymentMethodId));
      return cardOf(id);
    };
    try {
      await importIssuerRanges(on.database, 'first,last,hsa_fsa\n400006,,false\n');
      expect(await refresh('hsa')).toMatchObject({ hsaFsa: true, hsaFsaSource: 'processor' });
      // The processor says nothing of the new card, and the list says that it is none.
      expect(await refresh('undescribed')).toMatchObject({ last4: '0014', hsaFsa: true, hsaFsaSource: 'processor' });
      await on.test.admin("update checkout.payment_methods set hsa_fsa_source = 'partner' where id = $1", [id]);
      expect(await refresh('undescribed')).toMatchObject({ hsaFsa: false, hsaFsaSource: 'issuer_range' });
      await importIssuerRanges(on.database, 'first,last,hsa_fsa\n400006,,true\n');
      expect(await refresh('undescribed')).toMatchObject({ hsaFsa: true, hsaFsaSource: 'issuer_range' });
      expect(await refresh('mastercard')).toMatchObject({ hsaFsa: false, hsaFsaSource: 'processor' });
    } finally {
      await on.test.admin('delete from checkout.issuer_ranges');
    }
  });

  it('is refused and not stored while the processor does not answer, so that it is delivered again [D14.234]', async () => {
    const { id, processorPaymentMethodId } = await on.card('credit');
    await on.replaceCard(processorPaymentMethodId, 'mastercard');
    const event = eventOf(processorPaymentMethodId);
    const context = on.contextWith(() => ({
      retrievePaymentMethod: async () => ({
        kind: 'unknown',
        reason: 'timeout',
        mayHaveHappened: false,
        replayed: false,
      }),
    }));
    await expect(accept(event, context)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await isStored(event.eventId)).toBe(false);
    expect(await commandsOf(id)).toHaveLength(0);
    await accept(event);
    expect(await isStored(event.eventId)).toBe(true);
    expect(await cardOf(id)).toMatchObject({ last4: '4444' });
  });

  it('is refused if the card changed while the processor was asked, and then has the latest card [D14.234]', async () => {
    const { id, processorPaymentMethodId } = await on.card('credit');
    const event = eventOf(processorPaymentMethodId);
    const context = on.contextWith((port) => ({
      async retrievePaymentMethod(...asked) {
        const answer = await port.retrievePaymentMethod(...asked);
        await on.replaceCard(processorPaymentMethodId, 'mastercard');
        await accept(eventOf(processorPaymentMethodId));
        return answer;
      },
    }));
    await expect(accept(event, context)).rejects.toMatchObject({ code: 'service_unavailable' });
    await accept(event);
    expect(await cardOf(id)).toMatchObject({ last4: '4444' });
  });

  it('changes nothing of a card that is none of Eligo’s, or of another account [D14.234]', async () => {
    const strange = eventOf('pm_of_nobody');
    await accept(strange);
    expect(await isStored(strange.eventId)).toBe(true);
    const { id, processorPaymentMethodId } = await on.card('credit');
    const foreign = { ...on.scope, testMode: !on.scope.testMode };
    await refreshCard(on.context, foreign, eventOf(processorPaymentMethodId));
    expect(await commandsOf(id)).toHaveLength(0);
  });
});
