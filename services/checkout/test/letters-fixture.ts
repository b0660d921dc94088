import { newId } from '@eligo/values';
import { completeSession } from '../src/actions/complete-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import type { Letter } from '../src/domain/letter.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { listLetters } from '../src/store/letters.ts';
import { loadSession } from '../src/store/sessions.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

export const letterLine = (unitAmount: number, product = newId('product')) =>
  line({ unitAmount, class: 'letter_of_medical_necessity', product });

/** What tests of letters do with a fixture of charges. */
export function lettersFixture(fixture: ChargingFixture) {
  const pay = (session: Session, cards: PaymentMethod[]) =>
    completeSession(fixture.context, fixture.scope, {
      sessionId: session.id,
      paymentMethodIds: cards.map((card) => card.id),
      shippingDetails: null,
    });
  const reload = (session: Session) => loadSession(fixture.database, fixture.scope, session.id);

  async function lettersOf(session: Session): Promise<Letter[]> {
    const filter = { customerId: undefined, sessionId: session.id, status: undefined };
    const { letters } = await listLetters(fixture.database, fixture.scope, { limit: 100 }, filter);
    return letters.reverse();
  }

  return {
    pay,
    reload,
    lettersOf,
    decide: (letter: Letter, verdict: 'approved' | 'denied') =>
      decideLetter(fixture.context, fixture.scope, letter.id, verdict),

    /** Amount, captured amount and status of each charge, as the sandbox witnessed it. */
    async captured(session: Session) {
      return (await fixture.charges(session))
        .map((charge) => [charge.amount, charge.amount_captured, charge.status])
        .sort();
    },

    async onlyLetter(session: Session): Promise<Letter> {
      const [letter, ...others] = await lettersOf(session);
      if (letter === undefined || others.length > 0) throw new Error('one letter');
      return letter;
    },

    /** The types of a letter's events. */
    async told(letter: Letter): Promise<string[]> {
      const events = 'select type from checkout.outbox where aggregate_id = $1';
      return (await fixture.test.admin<{ type: string }>(events, [letter.id])).map(({ type }) => type);
    },

    async sweepAll(): Promise<void> {
      for (let round = 0; round < 5; round++) {
        await fixture.lapseLeases();
        await sweepCharges(fixture.context);
      }
    },

    /** 30.00 that needs a letter on the health card, 20.00 on the other one; both held. */
    async held(
      lines = [letterLine(3_000), line({ unitAmount: 2_000 })],
      parts = {},
      offSession = true,
    ): Promise<Session> {
      const [hsa, credit] = [await fixture.card('hsa', { offSession }), await fixture.card('credit', { offSession })];
      const session = await fixture.session({ lines, customerId: hsa.customerId, ...parts });
      return pay(session, [hsa, credit]);
    },

    /** The same cart after a confirm: the health card is held. */
    async confirmed(): Promise<Session> {
      const hsa = await fixture.card('hsa');
      const session = await fixture.session({
        lines: [letterLine(3_000), line({ unitAmount: 2_000 })],
        customerId: hsa.customerId,
      });
      await fixture.confirm(session, hsa);
      return (await reload(session)) ?? session;
    },
  };
}

export type LettersFixture = ReturnType<typeof lettersFixture>;
