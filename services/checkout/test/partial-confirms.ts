import { randomUUID } from 'node:crypto';
import { Failure } from '@eligo/failures';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { cents, newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { noteWaitingShopper } from '../src/actions/go-on-without-letters.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import type { CapturesFixture } from './captures-fixture.ts';
import { line } from './fixture.ts';

/** What the tests of the page's partial approvals have. */
export interface PartialApprovals {
  readonly fixture: CapturesFixture;
  readonly short: PaymentMethod & { customerId: string };
  readonly cart: (parts?: { captureMethod?: string }) => Promise<Session>;
  readonly amounts: (session: Session) => Promise<unknown[]>;
  readonly holds: (session: Session) => Promise<unknown[]>;
  readonly sweepAll: () => Promise<void>;
}

/** Each place at which the process may die, as the first card is confirmed and as the second one is. */
const crashes: readonly (readonly [ChargeFailpoint, number, 'first' | 'second'])[] = [
  ['confirm.key_claimed', 0, 'first'],
  ['confirm.before_claim_commit', 0, 'first'],
  ['confirm.claimed', 0, 'first'],
  ['plan.attempt_begun', 0, 'first'],
  ['charge.intent_created', 0, 'first'],
  ['charge.fence_passed', 0, 'first'],
  ['charge.processor_answered', 0, 'first'],
  ['charge.before_settle_commit', 0, 'first'],
  ['charge.settled', 0, 'first'],
  ['plan.before_conclude_commit', 0, 'first'],
  ['confirm.before_answer_commit', 0, 'first'],
  ['confirm.key_released', 0, 'first'],
  ['confirm.before_claim_commit', 0, 'second'],
  ['confirm.claimed', 0, 'second'],
  ['charge.fence_passed', 0, 'second'],
  ['charge.processor_answered', 0, 'second'],
  ['charge.before_settle_commit', 0, 'second'],
  ['plan.hold_decided', 0, 'second'],
  ['hold.processor_answered', 0, 'second'],
  ['hold.before_record_commit', 0, 'second'],
  ['hold.processor_answered', 1, 'second'],
  ['hold.recorded', 1, 'second'],
  ['plan.before_conclude_commit', 0, 'second'],
  ['confirm.before_answer_commit', 0, 'second'],
  ['confirm.key_released', 0, 'second'],
];

/** A confirm by API of an account that asks for partial approvals. The cart has 40.00 eligible of 100.00, and there are 25.00 on the health card. */
export function partialConfirmTests(using: () => PartialApprovals): void {
  const confirm = (session: Session, card: PaymentMethod, key: string = randomUUID()) =>
    using().fixture.confirm(session, card, { key, acceptsPart: true });
  const otherCard = () => using().fixture.card('credit', { customerId: using().short.customerId });

  const inPart = {
    ...{ status: 'open', amountReceivedCents: 0n },
    nextAction: {
      type: 'provide_second_payment_method',
      message:
        'The HSA or FSA card pays $25.00 of $40.00: it has no more money. Pay the remaining $15.00 with another card.',
      ...{ eligibleAmountCents: 2_500n, ineligibleAmountCents: 1_500n },
    },
  };
  const complete = { status: 'complete', amountReceivedCents: 4_000n };
  const whole = [
    [1_500, 1_500],
    [2_500, 2_500],
  ];

  describe('a confirm of which the health card is short of money [CONF-2, D14.237]', () => {
    it('holds the part and says what another card has to pay; the next one pays it, and never more than is eligible', async () => {
      const { fixture, short, cart, amounts, holds } = using();
      const session = await cart();
      const key = randomUUID();
      const first = await confirm(session, short, key);
      expect(first).toMatchObject({ replayed: false, session: inPart });
      expect(first.paymentIntent).toMatchObject({ status: 'requires_capture', amountCents: 2_500n });
      expect(await holds(session)).toEqual([['requires_capture', 2_500, 4_000]]);
      expect(await confirm(session, short, key)).toMatchObject({ replayed: true, session: inPart });
      const card = await otherCard();
      const second = randomUUID();
      expect(await confirm(session, card, second)).toMatchObject({ replayed: false, session: complete });
      expect(await confirm(session, card, second)).toMatchObject({ replayed: true, session: complete });
      expect((await confirm(session, short, key)).session).toMatchObject(inPart);
      expect(await amounts(session)).toEqual(whole);
      await fixture.booksAgree(session);
      const { payments } = await fixture.issuedReceipt(session);
      expect(payments.map(({ leg, amountCents, lineAmountsCents }) => [leg, amountCents, lineAmountsCents])).toEqual([
        ['health', 2_500n, [2_000n, 500n]],
        ['other', 1_500n, [1_500n]],
      ]);
      const refund = {
        refundId: newId('refund'),
        sessionId: session.id,
        paymentIntentId: null,
        preview: false,
        features: [],
      };
      const { cards } = await reserveRefund(fixture.context, fixture.scope, {
        ...refund,
        instruction: { entries: [], methods: [] },
      });
      expect(cards.map(({ intent, amountCents }) => [intent.leg, amountCents]).sort()).toEqual([
        ['health', cents(2_500)],
        ['other', cents(1_500)],
      ]);
    });

    it('that has enough, or is no health card, completes the session at once', async () => {
      const { fixture, short, cart, amounts } = using();
      const cards = [await fixture.card('hsa', { customerId: short.customerId }), await otherCard()];
      for (const card of cards) {
        const session = await cart();
        expect((await confirm(session, card)).session).toMatchObject(complete);
        expect(await amounts(session)).toEqual([[4_000, 4_000]]);
        await fixture.booksAgree(session);
      }
    });

    it('is declined where the account does not ask for a part', async () => {
      const { fixture, short, cart, amounts } = using();
      const session = await cart();
      const key = randomUUID();
      await expect(fixture.confirm(session, short, { key })).rejects.toMatchObject({
        ...{ code: 'card_declined', declineCode: 'insufficient_funds' },
      });
      expect(await amounts(session)).toEqual([[4_000, 0]]);
    });

    it('is not paid by the same card again or another health card, until the partner says that it is none', async () => {
      const { fixture, short, cart, amounts } = using();
      const session = await cart();
      await confirm(session, short);
      const hsa = await fixture.card('hsa', { customerId: short.customerId });
      const key = randomUUID();
      for (const card of [short, hsa]) {
        await expect(confirm(session, card, key)).rejects.toMatchObject({ code: 'other_payment_method_required' });
      }
      expect(await amounts(session)).toEqual([[2_500, 0]]);
      // The refusal is not stored under the key.
      expect((await confirm(session, await otherCard(), key)).session).toMatchObject(complete);
    });

    it('takes no second card of another processor account, and none without health cards, and stores neither refusal', async () => {
      const { fixture, short, cart } = using();
      const session = await cart();
      await confirm(session, short);
      const card = await otherCard();
      const moved = fixture.contextWith(() => ({ account: { processor: 'sandbox', account: 'acct_anotheraccount' } }));
      const key = randomUUID();
      const given = { key, acceptsPart: true };
      for (const _ of [1, 2]) {
        await expect(fixture.confirm(session, card, given, moved)).rejects.toMatchObject({
          code: 'payment_method_from_another_processor',
        });
        await expect(fixture.confirm(session, card, { ...given, refusesHealthCards: true })).rejects.toMatchObject({
          code: 'health_cards_not_enabled',
        });
      }
      expect((await confirm(session, card, key)).session).toMatchObject(complete);
    });

    it('is voided when the second card is declined: 402 for that request, and both may be tried again', async () => {
      const { fixture, short, cart, holds } = using();
      const session = await cart();
      await confirm(session, short);
      const declined = await fixture.card('declined', { customerId: short.customerId });
      const key = randomUUID();
      for (const _ of [1, 2]) {
        await expect(confirm(session, declined, key)).rejects.toMatchObject({ code: 'card_declined' });
      }
      expect((await holds(session))[0]).toEqual(['canceled', 2_500, 4_000]);
      expect((await confirm(session, short)).session).toMatchObject(inPart);
      expect((await confirm(session, await otherCard())).session).toMatchObject(complete);
      await fixture.booksAgree(session);
    });

    it('is voided an hour later without a second card, and with the session; each refusal of a confirm stays', async () => {
      const { fixture, short, cart, holds, sweepAll } = using();
      const [left, canceled] = [await cart(), await cart()];
      for (const session of [left, canceled]) await confirm(session, short);
      await fixture.test.admin("update checkout.payment_plans set release_at = '2020-01-01' where session_id = $1", [
        left.id,
      ]);
      await cancelSession(fixture.context, fixture.scope, canceled.id);
      await sweepAll();
      for (const session of [left, canceled]) expect(await holds(session)).toEqual([['canceled', 2_500, 4_000]]);
      const card = await otherCard();
      await expect(confirm(canceled, card)).rejects.toMatchObject({ code: 'checkout_session_canceled' });
      await expect(confirm(left, { ...card, id: newId('payment_method') })).rejects.toMatchObject({
        code: 'payment_method_not_found',
      });
      expect((await confirm(left, card)).session).toMatchObject(complete);
      await expect(confirm(left, card)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
    });

    it('holds both cards where a letter is needed, and takes no third one', async () => {
      const { fixture, short, sweepAll } = using();
      const session = await fixture.session({
        lines: [line({ unitAmount: 4_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 6_000 })],
        customerId: short.customerId,
      });
      expect((await confirm(session, short)).session).toMatchObject(inPart);
      const card = await otherCard();
      expect((await confirm(session, card)).session).toMatchObject({
        ...{ status: 'paid', amountReceivedCents: 0n },
        nextAction: { type: 'collect_letter_of_medical_necessity' },
      });
      await expect(confirm(session, card)).rejects.toMatchObject({ code: 'checkout_session_already_processed' });
      const [letter] = await fixture.test.admin<{ id: string }>(
        'select id from checkout.letters where session_id = $1',
        [session.id],
      );
      await decideLetter(fixture.context, fixture.scope, letter?.id ?? '', 'approved');
      await sweepAll();
      await fixture.booksAgree(session);
      expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 4_000 });
    });

    it('is canceled when its letter is denied, also while its page is open: the shop collects the rest by itself [D14.172]', async () => {
      const { fixture, short, sweepAll, holds } = using();
      const session = await fixture.session({
        lines: [line({ unitAmount: 4_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 6_000 })],
        customerId: short.customerId,
      });
      await confirm(session, short);
      await confirm(session, await otherCard());
      await noteWaitingShopper(fixture.context, fixture.scope, session.id);
      const [letter] = await fixture.test.admin<{ id: string }>(
        'select id from checkout.letters where session_id = $1',
        [session.id],
      );
      await decideLetter(fixture.context, fixture.scope, letter?.id ?? '', 'denied');
      await sweepAll();
      expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
      expect(await holds(session)).toEqual([
        ['canceled', 2_500, 4_000],
        ['canceled', 1_500, null],
      ]);
    });

    it('charges once, whatever number of requests come at once, with one key or with many', async () => {
      const { fixture, short, cart, amounts, sweepAll } = using();
      const session = await cart();
      const keys = ['one', 'one', 'two', 'three'].map((name) => `${name} ${session.id}`);
      const outcomes = await Promise.allSettled(keys.map((key) => confirm(session, short, key)));
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
      expect(['lock_timeout', 'idempotency_key_in_use', 'other_payment_method_required']).toEqual(
        expect.arrayContaining(refused),
      );
      await sweepAll();
      expect(await amounts(session)).toEqual([[2_500, 0]]);
      expect((await confirm(session, await otherCard())).session).toMatchObject(complete);
      await fixture.booksAgree(session);
    });

    it('waits its turn for its card, as any confirm does: those of several sessions at once are all answered 200 [D1.4]', async () => {
      const { fixture, short, cart, amounts } = using();
      const sessions = await Promise.all(Array.from({ length: 6 }, () => cart()));
      const card = await otherCard();
      const { context } = fixture;
      // Time for all of them on any machine.
      const patient = { ...context, budgets: { ...context.budgets, answerMs: 60_000 } };
      const confirmAll = (of: PaymentMethod) =>
        Promise.all(sessions.map((session) => fixture.confirm(session, of, { acceptsPart: true }, patient)));
      const first = await confirmAll(short);
      expect(first.map(({ session }) => session)).toMatchObject(sessions.map(() => inPart));
      const second = await confirmAll(card);
      expect(second.map(({ session }) => session)).toMatchObject(sessions.map(() => complete));
      for (const session of sessions) expect(await amounts(session)).toEqual(whole);
      for (const session of sessions) await fixture.booksAgree(session);
    });

    it('is refused by the database if its plan charges anything that is not eligible', async () => {
      const { fixture, short, cart } = using();
      const session = await cart();
      await confirm(session, short);
      await expect(
        fixture.test.admin('update checkout.payment_plans set other_cents = 7500 where session_id = $1', [session.id]),
      ).rejects.toMatchObject({ constraint: 'eligible_only_pays_what_was_asked' });
    });
  });

  describe('a process that dies on the way of a confirm in parts [D14.237]', () => {
    // A client asks again with the same key while it is told to, as the interface says.
    const untilAnswered = async (session: Session, card: PaymentMethod, key: string) => {
      const { fixture, sweepAll } = using();
      for (let tries = 0; tries < 5; tries++) {
        try {
          return await confirm(session, card, key);
        } catch (error) {
          if (!(error instanceof Failure) || error.status !== 503) throw error;
          await (tries === 0 ? fixture.lapseLeases() : sweepAll());
        }
      }
      throw new Error('the key has no answer');
    };

    it.each(crashes.flatMap((crash) => [true, false].map((retried) => [...crash, retried] as const)))(
      'at %s, pass %i, of the %s card, asked again with its key: %s',
      async (failpoint, skip, stage, retried) => {
        const { fixture, short, cart, amounts, sweepAll } = using();
        const session = await cart();
        const dying = async (card: PaymentMethod) => {
          const key = randomUUID();
          turnFailpointsOn();
          armFailpoint(failpoint, { action: 'error', skip });
          await confirm(session, card, key).catch(() => undefined);
          turnFailpointsOff();
          if (!retried) return sweepAll();
          await fixture.lapseLeases();
          const expected = card === short ? inPart : complete;
          expect((await untilAnswered(session, card, key)).session).toMatchObject(expected);
          expect(await confirm(session, card, key)).toMatchObject({ replayed: true, session: expected });
        };
        if (stage === 'first') await dying(short);
        // Nothing was begun where the process died before the claim was committed.
        if ((await fixture.reload(session)).nextAction === null) await confirm(session, short);
        expect(await amounts(session)).toEqual([[2_500, 0]]);
        const card = await otherCard();
        if (stage === 'second') await dying(card);
        if ((await fixture.reload(session)).status === 'open') await confirm(session, card);
        await sweepAll();
        await fixture.booksAgree(session);
        expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 4_000 });
        expect(await amounts(session)).toEqual(whole);
      },
    );

    it.each(['payment_intents.create', 'payment_intents.confirm', 'payment_intents.capture'])(
      'or an answer of %s that is lost, charges once',
      async (call) => {
        const { fixture, short, cart, amounts, sweepAll } = using();
        const session = await cart();
        await fixture.fault({ call, kind: 'drop_after', times: 1 });
        const [key, second] = [randomUUID(), randomUUID()];
        expect((await untilAnswered(session, short, key)).session).toMatchObject(inPart);
        expect((await untilAnswered(session, await otherCard(), second)).session).toMatchObject(complete);
        await sweepAll();
        await fixture.booksAgree(session);
        expect(await amounts(session)).toEqual(whole);
      },
    );
  });
}
