import { describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { readPage } from '../src/actions/read-page.ts';
import { readSubstantiation } from '../src/actions/read-substantiation.ts';
import type { Session } from '../src/domain/session.ts';
import type { CapturesFixture } from './captures-fixture.ts';
import { line } from './fixture.ts';

/** Sessions that an ordinary card pays, and of which the shopper's plan reimburses a part. */
export function reimbursementTests(fixture: () => CapturesFixture): void {
  describe('a session in mode reimbursement [D14.209]', () => {
    const cart = () =>
      fixture().session({
        mode: 'reimbursement',
        lines: [
          line({ unitAmount: 4_000, class: 'vision' }),
          line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }),
          line({ unitAmount: 2_000 }),
        ],
        ...{ receiptMerchantName: 'Care', customerEmail: 'ann@example.com' },
      });
    const pay = (session: Session, cards: readonly { readonly id: string }[]) =>
      completeSession(fixture().context, fixture().scope, {
        ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
      });

    it('is paid with an ordinary card as a whole, without a letter, and its receipt lists each item with its class', async () => {
      const session = await cart();
      expect(await readPage(fixture().context, fixture().scope, session.id)).toMatchObject({
        ...{ dueNowCents: 9_000, healthCardCents: 0 },
      });
      const paid = await pay(session, [await fixture().card('credit')]);
      expect(paid).toMatchObject({ status: 'complete', amountReceivedCents: 9_000, nextAction: null });
      expect((await fixture().charges(session)).map(({ amount }) => amount)).toEqual([9_000]);
      await fixture().booksAgree(session);
      const { lines, payments } = await fixture().issuedReceipt(session);
      expect(lines.map((one) => [one.eligibility?.hsaFsaEligibility, one.amountTotalCents])).toEqual([
        ['vision', 4_000n],
        ['letter_of_medical_necessity', 3_000n],
        [undefined, 2_000n],
      ]);
      expect(payments).toMatchObject([{ leg: 'other', amountCents: 9_000n }]);
      const proof = await readSubstantiation(fixture().database, fixture().scope, session.id);
      expect(proof.lines.map(({ captures }) => captures.map(({ amountCents }) => amountCents))).toEqual([
        [4_000],
        [3_000],
        [2_000],
      ]);
    });

    it('charges no health card, also beside an ordinary one', async () => {
      const [hsa, credit] = [await fixture().card('hsa'), await fixture().card('credit')];
      const session = await cart();
      expect(await pay(session, [hsa])).toMatchObject({
        status: 'open',
        nextAction: { type: 'provide_alternative_payment_method', message: expect.stringContaining('HSA or FSA plan') },
      });
      expect(await fixture().charges(session)).toEqual([]);
      expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'complete', amountReceivedCents: 9_000 });
      const paidWith = 'select payment_method_id as id, leg from checkout.payment_intents where session_id = $1';
      expect(await fixture().test.admin(paidWith, [session.id])).toEqual([{ id: credit.id, leg: 'other' }]);
    });
  });
}
