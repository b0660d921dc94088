import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../src/domain/session.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { pay } from './pay.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());

const receipts = { receiptMerchantName: 'Care', customerEmail: 'ann@example.com' };

const cardsOf = async (session: Session) =>
  (await fixture.issuedReceipt(session)).payments.map(({ leg, cardKind }) => [leg, cardKind]);

describe('what the receipt of a session says of its cards', () => {
  it.each([
    ['hsa', 'health'],
    ['credit', 'other'],
    ['undescribed', 'unknown'],
  ])(
    'is what the card %s of a confirm was taken for, though it pays the health leg: %s [D14.306]',
    async (name, kind) => {
      const card = await fixture.card(name);
      const session = await fixture.mixedSession(card, receipts);
      await fixture.confirm(session, card);
      expect(await cardsOf(session)).toEqual([['health', kind]]);
    },
  );

  it('is what each of two cards on the page was taken for [D14.306]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa, receipts);
    await pay(fixture, session, [hsa, credit]);
    expect(await cardsOf(session)).toEqual([
      ['health', 'health'],
      ['other', 'other'],
    ]);
  });

  it('is not known of an attempt of an earlier release [D14.306]', async () => {
    const session = await fixture.held({ parts: receipts });
    await fixture.test.admin('update checkout.charge_attempts set card_kind = null where subject_id = $1', [
      session.id,
    ]);
    await fixture.capture(session);
    expect(await cardsOf(session)).toEqual([
      ['health', 'unknown'],
      ['other', 'unknown'],
    ]);
  });
});
