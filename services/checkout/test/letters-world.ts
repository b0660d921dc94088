import { newId } from '@eligo/values';
import { completeSession } from '../src/actions/complete-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import type { Letter } from '../src/domain/letter.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { listLetters } from '../src/store/letters.ts';
import { loadSession } from '../src/store/sessions.ts';
import type { ChargingWorld } from './charging-world.ts';
import { line } from './world.ts';

export const letterLine = (unitAmount: number, product = newId('product')) =>
  line({ unitAmount, class: 'letter_of_medical_necessity', product });

/** What tests of letters do with a world of charges. */
export function lettersWorld(world: ChargingWorld) {
  const pay = (session: Session, cards: PaymentMethod[]) =>
    completeSession(world.charging, world.scope, {
      sessionId: session.id,
      paymentMethodIds: cards.map((card) => card.id),
      shippingDetails: null,
    });
  const reload = (session: Session) => loadSession(world.database, world.scope, session.id);

  async function lettersOf(session: Session): Promise<Letter[]> {
    const filter = { customerId: undefined, sessionId: session.id, status: undefined };
    const { letters } = await listLetters(world.database, world.scope, { limit: 100 }, filter);
    return letters.reverse();
  }

  return {
    pay,
    reload,
    lettersOf,
    decide: (letter: Letter, verdict: 'approved' | 'denied') =>
      decideLetter(world.charging, world.scope, letter.id, verdict),

    /** Amount, captured amount and status of each charge, as the sandbox witnessed it. */
    async captured(session: Session) {
      return (await world.charges(session))
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
      return (await world.test.admin<{ type: string }>(events, [letter.id])).map(({ type }) => type);
    },

    async sweepAll(): Promise<void> {
      for (let round = 0; round < 5; round++) {
        await world.lapseLeases();
        await sweepCharges(world.charging);
      }
    },

    /** 30.00 that needs a letter on the health card, 20.00 on the other one; both held. */
    async held(lines = [letterLine(3_000), line({ unitAmount: 2_000 })], parts = {}): Promise<Session> {
      const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
      const session = await world.session({ lines, customerId: hsa.customerId, ...parts });
      return pay(session, [hsa, credit]);
    },

    /** The same cart after a confirm: the health card is held. */
    async confirmed(): Promise<Session> {
      const hsa = await world.card('hsa');
      const session = await world.session({
        lines: [letterLine(3_000), line({ unitAmount: 2_000 })],
        customerId: hsa.customerId,
      });
      await world.confirm(session, hsa);
      return (await reload(session)) ?? session;
    },
  };
}

export type LettersWorld = ReturnType<typeof lettersWorld>;
