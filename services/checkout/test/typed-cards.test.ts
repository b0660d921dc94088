import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { completeOnPage } from '../src/actions/complete-with-cards.ts';
import type { Context } from '../src/context.ts';
import type { CardSlot } from '../src/domain/card-kind.ts';
import type { Session } from '../src/domain/session.ts';
import { mostTypedCards } from '../src/domain/typed-cards.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const exceeded = {
  ...{ code: 'checkout_session_payment_tries_exceeded', status: 409, detail: 'Too many cards were typed on the page.' },
};
// Nothing in it is eligible, so a health card is not charged.
const guest = () => fixture.session({ lines: [line({ unitAmount: 6_000 })] });
const pay = async (
  { id: sessionId }: Session,
  paymentMethod: string,
  { slot = 'health', context = fixture.context }: { slot?: CardSlot; context?: Context } = {},
) =>
  (
    await completeOnPage(context, fixture.scope, {
      ...{ sessionId, paymentMethod, secondPaymentMethod: undefined, slot },
      ...{ shippingDetails: null, onPage: true, refusesHealthCards: false },
    })
  ).session;
const typed = async ({ id }: Session) => (await loadSession(fixture.database, fixture.scope, id))?.typedCards;
const set = ({ id }: Session, count: number) =>
  fixture.test.admin('update checkout.sessions set typed_cards = $2 where id = $1', [id, count]);

describe('the cards that are typed on the page of a session and not charged', () => {
  it('are at most sixty: then the page takes no new card, and the processor is not asked [D14.345]', async () => {
    const session = await guest();
    await set(session, mostTypedCards - 1);
    const last = await fixture.typedCard('tok_hsa');
    const needsOther = { status: 'open', nextAction: { type: 'provide_alternative_payment_method' } };
    expect(await pay(session, last)).toMatchObject(needsOther);
    expect(await typed(session)).toBe(60);
    let asked = 0;
    const counting = fixture.contextWith((port) => ({
      retrievePaymentMethod(...given) {
        asked += 1;
        return port.retrievePaymentMethod(...given);
      },
    }));
    const good = await fixture.typedCard('tok_visa');
    await expect(pay(session, good, { context: counting })).rejects.toMatchObject(exceeded);
    expect(asked).toBe(0);
    // A card that was typed before is no new one.
    expect(await pay(session, last)).toMatchObject(needsOther);
    expect(await typed(session)).toBe(60);
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('include identifiers that the processor does not know, and no card that is charged at once [D14.345]', async () => {
    const session = await guest();
    const unknown = `pm_${newId('request').slice(-16)}`;
    await expect(pay(session, unknown)).rejects.toMatchObject({ violations: [{ type: 'payment_method_not_found' }] });
    expect(await typed(session)).toBe(1);
    const paid = await pay(session, await fixture.typedCard('tok_visa'), { slot: 'other' });
    expect(paid).toMatchObject({ status: 'complete', typedCards: 1 });
  });

  it('are not counted while the processor is known to be down, and nothing is asked then [D14.345]', async () => {
    const session = await guest();
    const card = await fixture.typedCard('tok_visa');
    const asked: string[] = [];
    const down = fixture.contextWith(() => ({
      isDown: () => true,
      async retrievePaymentMethod(id) {
        asked.push(id);
        return { kind: 'unknown', reason: 'unreachable', replayed: false } as never;
      },
    }));
    const refused = { code: 'service_unavailable', status: 503 };
    await expect(pay(session, card, { slot: 'other', context: down })).rejects.toMatchObject(refused);
    expect([asked, await typed(session)]).toEqual([[], 0]);
    expect(await pay(session, card, { slot: 'other' })).toMatchObject({ status: 'complete' });
  });

  it('stay at their limit where two are typed at the same time [D14.345]', async () => {
    const session = await guest();
    await set(session, mostTypedCards - 1);
    // The processor answers the first one only once the second one is refused, or asked about as well.
    const decided = Promise.withResolvers<void>();
    let asked = 0;
    const together = fixture.contextWith((port) => ({
      async retrievePaymentMethod(...given) {
        asked += 1;
        if (asked === 2) decided.resolve();
        await decided.promise;
        return port.retrievePaymentMethod(...given);
      },
    }));
    const adopt = async (processorPaymentMethodId: string) => {
      const given = { sessionId: session.id, testClockId: null, processorPaymentMethodId, loc: [], offSession: false };
      return adoptPageCard(together, fixture.scope, given).catch((error: unknown) => {
        decided.resolve();
        throw error;
      });
    };
    const cards = await Promise.all(['tok_visa', 'tok_visa'].map((token) => fixture.typedCard(token)));
    const outcomes = await Promise.allSettled(cards.map(adopt));
    expect(outcomes).toContainEqual({ status: 'rejected', reason: expect.objectContaining(exceeded) });
    expect([asked, await typed(session)]).toEqual([1, 60]);
  });

  it('only grow in number, and the database counts none beyond the limit [D14.345]', async () => {
    const session = await guest();
    await set(session, mostTypedCards);
    const beyond = set(session, mostTypedCards + 1);
    await expect(beyond).rejects.toMatchObject({ constraint: 'typed_cards_are_bounded' });
    const fewer = set(session, mostTypedCards - 1);
    await expect(fewer).rejects.toMatchObject({ constraint: 'typed_cards_grow' });
  });
});
