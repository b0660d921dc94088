import { createHash, randomUUID } from 'node:crypto';
import { Failure } from '@eligo/failures';
import { cents, newId } from '@eligo/values';
import { expect } from 'vitest';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { createSession } from '../src/actions/create-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { cancelByPartner } from '../src/actions/end-by-partner.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import type { CapturesFixture } from './captures-fixture.ts';
import { callIn, line, sessionMessage } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';
import { pageFlowsOf } from './page-flows.ts';
import { type Flow, reads, type Step, writes } from './processor-calls.ts';

/** Every flow that calls the processor, but for refunds, which are another service's. */
export function flowsOf(fixture: () => CapturesFixture): Flow[] {
  const scope = () => fixture().scope;
  const letters = () => lettersFixture(fixture());
  const cart = () => [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })];
  const twoCards = () => Promise.all([fixture().card('hsa'), fixture().card('credit')]);
  const pay =
    (session: Session, cards: readonly PaymentMethod[], acceptsPart = false) =>
    (context: Context) =>
      completeSession(context, scope(), {
        ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null, acceptsPart },
      });
  const capture = (session: Session, parts: Parameters<CapturesFixture['capture']>[1]) => {
    const key = randomUUID();
    return (context: Context) => fixture().capture(session, { ...parts, key }, context);
  };
  const [create, confirm, take, cancel] = [
    writes.createIntent,
    writes.confirmIntent,
    writes.captureIntent,
    writes.cancelIntent,
  ];
  const charge = [create, confirm];
  const setUp = [writes.createSetupIntent, writes.confirmSetupIntent];
  const setUpSession = async () => {
    const [health, other] = await twoCards();
    const session = await fixture().session({ mode: 'setup', lines: [], customerId: health.customerId });
    return { session, cards: [health, other] };
  };
  const decided = async (verdict: 'approved' | 'denied', lines = [letterLine(3_000), line({ unitAmount: 2_000 })]) => {
    const session = await letters().held(lines);
    const letter = await letters().onlyLetter(session);
    return {
      session,
      run: (context: Context) =>
        decideLetter(context, scope(), letter.id, verdict).catch((error: unknown) => {
          // Asked again: it was decided.
          if (!(error instanceof Failure && error.code === 'letter_not_in_review')) throw error;
        }),
    };
  };
  return [
    {
      name: 'a confirm',
      calls: charge,
      async begin() {
        const card = await fixture().card('hsa');
        const session = await fixture().session({ lines: cart(), customerId: card.customerId });
        const key = randomUUID();
        const run = (context: Context) => fixture().confirm(session, card, { key }, context);
        return { session, run, after: { status: 'complete', taken: [3_000] } };
      },
    },
    {
      name: 'two cards on the page',
      calls: [...charge, ...charge, take],
      async begin() {
        const cards = await twoCards();
        const session = await fixture().session({ lines: cart(), customerId: cards[0].customerId });
        return { session, run: pay(session, cards), after: { status: 'complete', taken: [2_000, 3_000] } };
      },
    },
    {
      name: 'two cards that are held',
      calls: [...charge, ...charge],
      async begin() {
        const cards = await twoCards();
        const session = await fixture().session({ lines: cart(), captureMethod: 'manual' });
        return { session, run: pay(session, cards), after: { status: 'paid', taken: [0, 0], held: true } };
      },
    },
    {
      name: 'a second card after a partial approval',
      calls: [...charge, take, take],
      async begin() {
        const [short, other] = [await fixture().card('hsa_short'), await fixture().card('credit')];
        const session = await fixture().session({ lines: cart() });
        await pay(session, [short], true)(fixture().context);
        return { session, run: pay(session, [other]), after: { status: 'complete', taken: [2_500, 2_500] } };
      },
    },
    {
      name: 'a payment in mode reimbursement',
      calls: charge,
      async begin() {
        const card = await fixture().card('credit');
        const session = await fixture().session({ mode: 'reimbursement', lines: cart() });
        return { session, run: pay(session, [card]), after: { status: 'complete', taken: [5_000] } };
      },
    },
    {
      name: 'a charge off session at creation',
      calls: charge,
      async begin() {
        const card = await fixture().card('credit');
        const idempotency = { key: randomUUID(), requestHash: createHash('sha256').update('off session').digest() };
        const parts = { mode: 'off_session', paymentMethodId: card.id, customerId: card.customerId, idempotency };
        const request = sessionRequestOf(sessionMessage({ lines: cart(), ...parts }));
        const run = async (context: Context) => {
          const session = await createSession(context, callIn(scope()), request);
          await converge(fixture());
          const { status, taken, isHeld } = await standing(fixture(), session);
          const sum = taken.reduce((total, amount) => total + amount, 0);
          // One that was never sent is over, and its session stays open for another card.
          expect([`complete ${5_000} false`, 'open 0 false']).toContain(`${status} ${sum} ${isHeld}`);
          await fixture().booksAgree(session);
        };
        return { session: undefined, run, after: { status: '', taken: [] } };
      },
    },
    {
      name: 'the charge of an invoice',
      calls: charge,
      async begin() {
        const card = await fixture().card('hsa');
        const names = { operationId: newId('charge_attempt'), invoiceId: newId('invoice') };
        const run = async (context: Context) => {
          const charged = await chargeInvoice(context, scope(), {
            ...{ ...names, subscriptionId: newId('subscription'), customerId: card.customerId },
            ...{ paymentMethodId: card.id, leg: 'health', amountCents: cents(2_500), at: new Date() },
          });
          if (charged.outcome === 'unknown') throw new Failure('service_unavailable');
          expect(charged.outcome).toBe('succeeded');
          const paid = "select 1 from checkout.charge_attempts where subject_id = $1 and status = 'succeeded'";
          expect(await fixture().test.admin(paid, [names.invoiceId])).toHaveLength(1);
        };
        return { session: undefined, run, after: { status: '', taken: [] } };
      },
    },
    {
      name: 'a set-up of two cards',
      calls: [...setUp, ...setUp],
      async begin() {
        const { session, cards } = await setUpSession();
        return { session, run: pay(session, cards), after: { status: 'complete', taken: [] } };
      },
    },
    {
      name: 'a capture of a part',
      calls: [take],
      reads: [reads.retrieveCharge],
      async begin() {
        const session = await fixture().heldOnOneCard();
        return {
          session,
          run: capture(session, { amount: 1_000 }),
          after: { status: 'paid', taken: [1_000], held: true },
        };
      },
    },
    {
      name: 'the last of several captures, of two cards',
      calls: [take, take],
      async begin() {
        const session = await fixture().held();
        await fixture().capture(session, { amount: 1_000 });
        const run = capture(session, { isFinal: true });
        return { session, run, after: { status: 'complete', taken: [2_400, 3_600] } };
      },
    },
    {
      name: 'a final capture of a part, which releases the remainder',
      calls: [take, take],
      async begin() {
        const session = await fixture().held();
        const run = capture(session, { amount: 2_000, isFinal: true });
        return { session, run, after: { status: 'complete', taken: [800, 1_200] } };
      },
    },
    {
      name: 'a void of two holds',
      calls: [cancel, cancel],
      async begin() {
        const session = await fixture().held();
        const run = async (context: Context) => {
          const { status } = await fixture().reload(session);
          if (status !== 'canceled') await cancelByPartner(context, scope(), session.id);
        };
        return { session, run, after: { status: 'canceled', taken: [0, 0] } };
      },
    },
    {
      name: 'a letter that is approved',
      calls: [take, take],
      begin: async () => ({ ...(await decided('approved')), after: { status: 'complete', taken: [2_000, 3_000] } }),
    },
    {
      name: 'a letter that is denied',
      calls: [cancel, cancel],
      begin: async () => ({ ...(await decided('denied')), after: { status: 'canceled', taken: [0, 0] } }),
    },
    {
      name: 'the approval of a letter with a fee',
      calls: [take, take],
      async begin() {
        const withFee = callIn(scope(), { letterFeeCents: 1_500 });
        const lines = [letterLine(3_000), line({ unitAmount: 2_000 })];
        const session = await createSession(fixture().context, withFee, sessionRequestOf(sessionMessage({ lines })));
        await pay(session, await twoCards())(fixture().context);
        const letter = await letters().onlyLetter(session);
        const run = (context: Context) =>
          decideLetter(context, scope(), letter.id, 'approved').catch((error: unknown) => {
            if (!(error instanceof Failure && error.code === 'letter_not_in_review')) throw error;
          });
        return { session, run, after: { status: 'complete', taken: [2_000, 4_500] } };
      },
    },
    ...pageFlowsOf(fixture),
  ];
}

/** Until the sweeper has nothing more to do. */
export async function converge(fixture: CapturesFixture): Promise<void> {
  await fixture.clearFaults();
  for (let round = 0; round < 4; round += 1) {
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
  }
}

/** How a session stands, and what the processor took of its cards. */
export async function standing(fixture: CapturesFixture, session: Session | undefined) {
  if (session === undefined) return { status: '', taken: [], isHeld: false };
  const [{ status }, charges, attempts] = await Promise.all([
    fixture.reload(session),
    fixture.charges(session),
    fixture.atProcessor(session),
  ]);
  return {
    status,
    taken: charges.map((charge) => charge.amount_captured).toSorted((one, other) => one - other),
    isHeld: attempts.some(([, , kind]) => kind === 'requires_capture'),
  };
}

/** Throws unless it stands as after its step. */
export async function stands(fixture: CapturesFixture, { session, after }: Step): Promise<void> {
  if (session === undefined) return;
  const { status, taken, held = false } = after;
  expect(await standing(fixture, session)).toEqual({ status, taken, isHeld: held });
  await fixture.booksAgree(session);
}
