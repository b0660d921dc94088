import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeAtOnce } from '../src/actions/charge-at-once.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { type CardSlot, kindSources } from '../src/domain/card-kind.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

// Every answer to "is it a health card?", by every source that can give it.
const kinds = [
  { hsaFsa: null, source: null },
  ...kindSources.flatMap((source) => [true, false].map((hsaFsa) => ({ hsaFsa, source }))),
];

const carts = [
  { eligible: 4_000, rest: 0 },
  { eligible: 4_000, rest: 6_000 },
  { eligible: 0, rest: 6_000 },
  { eligible: 49, rest: 6_000 },
  { eligible: 4_000, rest: 49 },
  { eligible: 4_000, rest: 6_000, letter: true },
];
type Cart = (typeof carts)[number];

// The ways in which one card comes to be charged. Beside it on the page: an ordinary card, in the slot for such.
const tenders = [
  ...[undefined, 'health', 'other'].flatMap((slot) =>
    [false, true].map((beside) => ({ by: 'page', slot: slot as CardSlot | undefined, beside })),
  ),
  ...['confirm', 'creation', 'invoice'].map((by) => ({ by, slot: undefined, beside: false })),
];
type Tender = (typeof tenders)[number];

type Card = PaymentMethod & { customerId: string };

const sessionOf = ({ eligible, rest, letter }: Cart, { customerId, id }: Card, { by }: Tender) =>
  fixture.session({
    lines: [
      ...(eligible > 0
        ? [line({ unitAmount: eligible, class: letter ? 'letter_of_medical_necessity' : 'auto_substantiation' })]
        : []),
      ...(rest > 0 ? [line({ unitAmount: rest })] : []),
    ],
    ...(by === 'creation' ? { mode: 'off_session', paymentMethodId: id } : {}),
    customerId,
  });

async function give(session: Session, card: Card, ordinary: Card, { by, slot, beside }: Tender): Promise<void> {
  if (by === 'confirm') await fixture.confirm(session, card);
  else if (by === 'creation') await chargeAtOnce(fixture.context, fixture.scope, session, false);
  else
    await completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: [card.id, ...(beside ? [ordinary.id] : [])] },
      ...{ slots: [slot, ...(beside ? ['other' as const] : [])], shippingDetails: null },
    });
}

// What the processor has charged or held for a session or an invoice, by card.
async function charged(subjectId: string): Promise<Map<string, number>> {
  const rows = await fixture.test.admin<{ card: string; cents: number }>(
    `select payment_method_id as card, sum(amount_cents)::int as cents from checkout.charge_attempts
     where subject_id = $1 and status = 'succeeded' group by 1`,
    [subjectId],
  );
  return new Map(rows.map(({ card, cents: amount }) => [card, amount]));
}

// The legs of an invoice come from billing: the health card's part, and the rest.
async function giveInvoice({ eligible, rest }: Cart, card: Card): Promise<Map<string, number>> {
  const invoiceId = newId('invoice');
  for (const [leg, amount] of [
    ['health', eligible],
    ['other', rest],
  ] as const) {
    if (amount < 50) continue;
    const ids = { operationId: newId('charge_attempt'), invoiceId, subscriptionId: newId('subscription') };
    const given = { customerId: card.customerId, paymentMethodId: card.id, amountCents: cents(amount), leg };
    await chargeInvoice(fixture.context, fixture.scope, { ...ids, ...given, at: new Date() }).catch((error) =>
      expect(error).toMatchObject({ code: 'payment_method_not_found' }),
    );
  }
  return charged(invoiceId);
}

/** What the card is to pay, said here in words of its own. */
function expectedOf({ eligible, rest }: Cart, { by }: Tender, mayBeHealth: boolean): number {
  if (by === 'invoice') return (eligible < 50 ? 0 : eligible) + (mayBeHealth || rest < 50 ? 0 : rest);
  // A confirm charges what is eligible to the card that it names, and nothing else to any card.
  if (by === 'confirm') return eligible < 50 ? 0 : eligible;
  if (!mayBeHealth) return eligible + rest;
  return eligible < 50 || (rest > 0 && rest < 50) ? 0 : eligible;
}

describe('each way of paying each cart', () => {
  it.each(kinds)(
    'charges nothing ineligible to a card that is, or may be, a health card: $hsaFsa by $source [D6.3, D14.70]',
    async ({ hsaFsa, source }) => {
      const card = await fixture.card('undescribed');
      const ordinary = await fixture.card('credit', { customerId: card.customerId });
      for (const cart of carts) {
        for (const tender of tenders) {
          const of = JSON.stringify({ cart, tender });
          const said = 'update checkout.payment_methods set hsa_fsa = $2, hsa_fsa_source = $3 where id = $1';
          await fixture.test.admin(said, [card.id, hsaFsa, source]);
          const isUnknown = hsaFsa === null && tender.slot === undefined;
          const mayBeHealth = hsaFsa === true || tender.slot === 'health' || isUnknown;
          const expected = expectedOf(cart, tender, mayBeHealth);
          if (tender.by === 'invoice') {
            expect((await giveInvoice(cart, card)).get(card.id) ?? 0, of).toBe(expected);
            continue;
          }
          const session = await sessionOf(cart, card, tender);
          await give(session, card, ordinary, tender);
          const byCard = await charged(session.id);
          expect(byCard.get(card.id) ?? 0, of).toBe(expected);
          expect(byCard.get(ordinary.id) ?? 0, of).toBe(tender.beside ? cart.eligible + cart.rest - expected : 0);
          const witnessed = (await fixture.charges(session)).reduce((sum, { amount }) => sum + amount, 0);
          expect(witnessed, of).toBe([...byCard.values()].reduce((sum, amount) => sum + amount, 0));
        }
      }
    },
    60_000,
  );
});
