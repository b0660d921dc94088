import type { FaultKind } from '@eligo/sandbox';
import { describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import type { CapturesFixture } from './captures-fixture.ts';
import { line, shortBudgets } from './fixture.ts';

const kinds: readonly FaultKind[] = [
  ...(['error_before', 'error_after', 'drop_before', 'drop_after'] as const),
  ...(['late', 'in_progress', 'rate_limited', 'slow'] as const),
];
// Longer than all calls of a request may take, and than the test waits for an orphan.
const delays: Readonly<Partial<Record<FaultKind, number>>> = { slow: 1_600, late: 100 };

/** Payments on the page, with each fault of the sandbox at each call of their way. */
export function pageFaultTests(fixture: () => CapturesFixture): void {
  // Only a slow answer is to be cut off.
  const contextFor = (kind: FaultKind | undefined) => {
    const { context } = fixture();
    return kind === 'slow' ? { ...context, budgets: shortBudgets } : context;
  };
  const pay = (session: Session, cards: readonly PaymentMethod[], kind?: FaultKind) =>
    completeSession(contextFor(kind), fixture().scope, {
      ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
    });
  const sweep = async (kind?: FaultKind) => {
    for (let round = 0; round < 4; round++) {
      await fixture().lapseLeases();
      await sweepCharges(contextFor(kind));
    }
  };
  const converge = async (kind: FaultKind) => {
    await sweep(kind);
    // Nothing tells when the orphan has arrived.
    if (kind === 'late') await new Promise((resolve) => setTimeout(resolve, 150));
    await fixture().clearFaults();
    await sweep();
  };
  const captured = async (session: Session) =>
    (await fixture().charges(session)).map(({ amount_captured: amount }) => amount).filter((amount) => amount > 0);

  const address = { line1: '1 Main St', city: 'Albany', state: 'NY', postalCode: '12207', country: 'US' };

  it.each([null, address])(
    'a payment on the page says that its session was canceled while the card was read, with the address %j',
    async (shippingDetails) => {
      const session = await fixture().session({ lines: [line({ unitAmount: 4_000 })] });
      const context = fixture().contextWith((port) => ({
        async retrieveConfirmationToken(...call: Parameters<typeof port.retrieveConfirmationToken>) {
          const answer = await port.retrieveConfirmationToken(...call);
          const { status } = await fixture().reload(session);
          if (status === 'open') await cancelSession(fixture().context, fixture().scope, session.id);
          return answer;
        },
      }));
      const payment = {
        ...{
          sessionId: session.id,
          paymentMethod: await fixture().confirmationToken('tok_visa'),
          slot: 'other' as const,
        },
        ...{ secondPaymentMethod: undefined, onPage: true, shippingDetails, refusesHealthCards: false },
      };
      await expect(completeWithCards(context, fixture().scope, payment)).rejects.toMatchObject({
        code: 'checkout_session_canceled',
      });
      expect(await fixture().charges(session)).toEqual([]);
    },
  );

  describe('a payment on the page whose calls to the processor fail', () => {
    it.each(
      ['payment_intents.create', 'payment_intents.confirm', 'payment_intents.capture'].flatMap((call) =>
        kinds.map((kind) => [call, kind] as const),
      ),
    )('%s by %s charges each of two cards once', async (call, kind) => {
      const cards = await Promise.all([fixture().card('hsa'), fixture().card('credit')]);
      const session = await fixture().mixedSession(cards[0]);
      await fixture().fault({ call, kind, times: 2, delay_ms: delays[kind] ?? 1_000 });
      await fixture().fault({ call: 'payment_intents.retrieve', kind: 'drop_after', times: 1 });
      await pay(session, cards, kind).catch(() => undefined);
      await converge(kind);
      // A payment that was never sent is over, and the shopper pays again.
      if ((await fixture().reload(session)).status === 'open') await pay(session, cards);
      expect(await fixture().reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
      expect((await captured(session)).sort()).toEqual([4_000, 6_000]);
      await fixture().booksAgree(session);
    });

    it.each(kinds)(
      'payment_intents.cancel by %s releases the health card once the other one is declined',
      async (kind) => {
        const [hsa, declined, credit] = await Promise.all([
          fixture().card('hsa'),
          fixture().card('declined'),
          fixture().card('credit'),
        ]);
        const session = await fixture().mixedSession(hsa);
        await fixture().fault({ call: 'payment_intents.cancel', kind, times: 2, delay_ms: delays[kind] ?? 1_000 });
        await pay(session, [hsa, declined], kind).catch(() => undefined);
        await converge(kind);
        expect(await fixture().reload(session)).toMatchObject({ status: 'open', amountReceivedCents: 0 });
        const holds = "select 1 from checkout.payment_intents where session_id = $1 and status = 'requires_capture'";
        expect(await fixture().test.admin(holds, [session.id])).toEqual([]);
        expect(await captured(session)).toEqual([]);
        expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
        await fixture().booksAgree(session);
      },
    );
  });
}
