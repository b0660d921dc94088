import { randomUUID } from 'node:crypto';
import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import { expect } from 'vitest';
import { adoptInvoiceCard } from '../src/actions/adopt-invoice-card.ts';
import { chargeAtOnce } from '../src/actions/charge-at-once.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { completeOnPage } from '../src/actions/complete-with-cards.ts';
import { makeCustomer } from '../src/actions/create-customer.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { followHold } from '../src/actions/follow-hold.ts';
import { visitPage } from '../src/actions/visit-page.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import type { CapturesFixture } from './captures-fixture.ts';
import { line, start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';
import { type Flow, reads, writes } from './processor-calls.ts';

/** The flows of cards that are typed on a page, of trials, of what is given up, and of the jobs that follow holds. */
export function pageFlowsOf(fixture: () => CapturesFixture): Flow[] {
  const scope = () => fixture().scope;
  const cart = () => [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })];
  const [create, confirm, take, cancel] = [
    writes.createIntent,
    writes.confirmIntent,
    writes.captureIntent,
    writes.cancelIntent,
  ];
  const charge = [create, confirm];
  const setUp = [writes.createSetupIntent, writes.confirmSetupIntent];
  const complete = (session: Session, cards: readonly PaymentMethod[]) => (context: Context) =>
    completeSession(context, scope(), {
      ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
    });

  /** A card as the fields of a page give it: it belongs to nobody. */
  async function typed(token: string): Promise<string> {
    const processor = fixture().context.processors.of(scope());
    const made = await processor.createPaymentMethod({ token }, { idempotencyKey: newId('request') });
    if (made.kind !== 'found') throw new Error(`The sandbox answered ${made.kind}`);
    return made.paymentMethodId;
  }
  const payOnPage =
    ({ id: sessionId }: Session, health: string, other?: string) =>
    (context: Context) =>
      completeOnPage(context, scope(), {
        ...{ sessionId, paymentMethod: health, secondPaymentMethod: other, slot: 'health', secondSlot: 'other' },
        ...{ shippingDetails: null, onPage: true, refusesHealthCards: false },
      });

  /** A session that holds the health card, and waits for another one. */
  async function heldAtFirst(): Promise<{ session: Session; other: PaymentMethod }> {
    const [health, other] = [await fixture().card('hsa'), await fixture().card('credit')];
    const session = await fixture().session({ lines: cart(), customerId: health.customerId });
    await complete(session, [health])(fixture().context);
    return { session, other };
  }

  /** As the job does it for the holds of a session that are due, at the time when the first of them has this long to last. */
  const followAt = (session: Session, leftMs: number) => async (context: Context) => {
    const { paymentIntentIds } = await fixture().reload(session);
    const held = (await findIntents(fixture().database, scope(), paymentIntentIds)).filter(
      ({ status }) => status === 'requires_capture',
    );
    const due = "update checkout.payment_intents set hold_check_at = '2000-01-01' where id = any($1::text[])";
    await fixture().test.admin(due, [held.map(({ id }) => id)]);
    const lapsesAt = Math.min(...held.map(({ captureBefore }) => captureBefore?.getTime() ?? Number.NaN));
    if (held.length > 0) fixture().clock.set(new Date(lapsesAt - leftMs));
    try {
      for (const { id } of held) await followHold(context, scope(), id);
    } finally {
      fixture().clock.set(start);
    }
  };

  return [
    {
      name: 'a card that was typed on the page',
      calls: charge,
      reads: [reads.retrievePaymentMethod],
      async begin() {
        const session = await fixture().session({ lines: [line({ unitAmount: 3_000, class: 'auto_substantiation' })] });
        const run = payOnPage(session, await typed('tok_hsa'));
        return { session, run, after: { status: 'complete', taken: [3_000] } };
      },
    },
    {
      name: 'a card that was typed into Stripe’s fields',
      calls: charge,
      reads: [reads.retrieveConfirmationToken],
      async begin() {
        const session = await fixture().session({ lines: [line({ unitAmount: 3_000, class: 'auto_substantiation' })] });
        const run = payOnPage(session, await fixture().confirmationToken('tok_hsa'));
        return { session, run, after: { status: 'complete', taken: [3_000] } };
      },
    },
    {
      name: 'two cards that were typed on the page',
      calls: [...charge, ...charge, take],
      reads: [reads.retrievePaymentMethod, reads.retrievePaymentMethod],
      async begin() {
        const session = await fixture().session({ lines: cart() });
        const run = payOnPage(session, await typed('tok_hsa'), await typed('tok_visa'));
        return { session, run, after: { status: 'complete', taken: [2_000, 3_000] } };
      },
    },
    {
      name: 'a card that was typed on the page and is saved',
      calls: [writes.createCustomer, writes.attachPaymentMethod, ...setUp],
      reads: [reads.retrievePaymentMethod],
      async begin() {
        const person = { firstName: 'Ada', lastName: null, phone: null, email: null, employer: null, shipping: null };
        const { customerId } = await withTx(fixture().database, scope(), (tx) =>
          makeCustomer(tx, scope(), { ...person, metadata: {}, testClockId: null }, new Date()),
        );
        const session = await fixture().session({ mode: 'setup', lines: [], customerId });
        return { session, run: payOnPage(session, await typed('tok_hsa')), after: { status: 'complete', taken: [] } };
      },
    },
    {
      name: 'the two cards of a trial',
      calls: [...setUp, ...setUp],
      async begin() {
        const health = await fixture().card('hsa');
        const other = await fixture().card('credit', { customerId: health.customerId });
        const lines = [
          line({ unitAmount: 3_000, class: 'auto_substantiation', recurring: true }),
          line({ unitAmount: 2_000, recurring: true }),
        ];
        const parts = { mode: 'subscription', lines, customerId: health.customerId };
        const session = await fixture().session({ ...parts, subscriptionData: { trialPeriodDays: 14 } });
        return { session, run: complete(session, [health, other]), after: { status: 'complete', taken: [] } };
      },
    },
    {
      name: 'the second card of a session that was charged off session',
      calls: [...charge, take],
      async begin() {
        const card = await fixture().card('undescribed');
        const other = await fixture().card('credit', { customerId: card.customerId });
        const parts = { mode: 'off_session', customerId: card.customerId, paymentMethodId: card.id };
        const session = await fixture().session({ lines: cart(), ...parts });
        await chargeAtOnce(fixture().context, scope(), session, false);
        const key = randomUUID();
        const run = (context: Context) => fixture().confirm(session, other, { key }, context);
        return { session, run, after: { status: 'complete', taken: [2_000, 3_000] } };
      },
    },
    {
      name: 'a cancel while the first of two cards is held',
      calls: [cancel],
      async begin() {
        const { session } = await heldAtFirst();
        const run = async (context: Context) => {
          const { status } = await fixture().reload(session);
          if (status !== 'canceled') await cancelSession(context, scope(), session.id);
          await fixture().lapseLeases();
          await sweepCharges(context);
        };
        return { session, run, after: { status: 'canceled', taken: [0] } };
      },
    },
    {
      name: 'another card after a letter was denied',
      calls: charge,
      async begin() {
        const letters = lettersFixture(fixture());
        const session = await letters.held([letterLine(3_000), line({ unitAmount: 2_000 })]);
        await visitPage(fixture().context, scope(), session.id, {});
        await letters.decide(await letters.onlyLetter(session), 'denied');
        const other = await fixture().card('credit');
        return { session, run: complete(session, [other]), after: { status: 'complete', taken: [0, 0, 5_000] } };
      },
    },
    {
      name: 'the end of two holds that lapse',
      calls: [cancel, cancel],
      reads: [reads.retrieveIntent],
      async begin() {
        const session = await fixture().held();
        return { session, run: followAt(session, 1_800_000), after: { status: 'canceled', taken: [0, 0] } };
      },
    },
    {
      name: 'a card that was typed on the page of an invoice',
      calls: charge,
      async begin() {
        const { customerId } = await fixture().card('hsa');
        const names = { operationId: newId('charge_attempt'), invoiceId: newId('invoice'), customerId };
        const { id: paymentMethodId } = await adoptInvoiceCard(fixture().context, scope(), {
          ...{ invoiceId: names.invoiceId, customerId, slot: 'health', refusesHealthCards: false },
          processorPaymentMethodId: await typed('tok_hsa'),
        });
        const run = async (context: Context) => {
          const charged = await chargeInvoice(context, scope(), {
            ...{ ...names, subscriptionId: newId('subscription'), paymentMethodId, onPage: true },
            ...{ leg: 'health', amountCents: cents(2_500), at: new Date() },
          });
          if (charged.outcome === 'unknown') throw new Failure('service_unavailable');
          expect(charged.outcome).toBe('succeeded');
          const paid = "select 1 from checkout.charge_attempts where subject_id = $1 and status = 'succeeded'";
          expect(await fixture().test.admin(paid, [names.invoiceId])).toHaveLength(1);
        };
        return { session: undefined, run, after: { status: '', taken: [] } };
      },
    },
  ];
}
