import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { adoptPageCard } from '../src/actions/adopt-page-card.ts';
import { completeOnPage } from '../src/actions/complete-with-cards.ts';
import { importIssuerRanges } from '../src/actions/import-issuer-ranges.ts';
import { type CardSlot, kindSources } from '../src/domain/card-kind.ts';
import type { Session } from '../src/domain/session.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.test.admin('delete from checkout.issuer_ranges'));

const carts = [
  { eligible: 4_000, rest: 0 },
  { eligible: 4_000, rest: 6_000 },
  { eligible: 0, rest: 6_000 },
  { eligible: 49, rest: 6_000 },
  { eligible: 4_000, rest: 49 },
  { eligible: 4_000, rest: 6_000, letter: true },
];
type Cart = (typeof carts)[number];

/** Where the card is put, and which card stands beside it: an ordinary one, in either slot, before it or after it. */
const orders = [
  { slot: undefined },
  { slot: 'health' },
  { slot: 'other' },
  { slot: 'health', after: 'other' },
  { slot: undefined, after: 'other' },
  { slot: 'other', after: 'health' },
  { slot: 'other', before: 'health' },
  { slot: undefined, before: 'other' },
  { slot: 'health', before: 'other' },
] as const satisfies readonly { slot: CardSlot | undefined; after?: CardSlot; before?: CardSlot }[];
type Order = { readonly slot: CardSlot | undefined; readonly after?: CardSlot; readonly before?: CardSlot };

interface Kind {
  readonly source: (typeof kindSources)[number] | null;
  readonly hsaFsa: boolean | null;
  /** Of the sandbox's card, which its fields tokenize. */
  readonly token: string;
  readonly issuerRange?: boolean;
  /** The card was given on the page before, and this is what is known of it by now. */
  readonly isKnown?: boolean;
}

const kinds: readonly Kind[] = [
  // A card that was just typed: what the processor or the operator's list says of it.
  { source: 'processor', hsaFsa: true, token: 'tok_hsa' },
  { source: 'processor', hsaFsa: false, token: 'tok_visa' },
  { source: 'issuer_range', hsaFsa: true, token: 'tok_undescribed', issuerRange: true },
  { source: 'issuer_range', hsaFsa: false, token: 'tok_undescribed', issuerRange: false },
  { source: null, hsaFsa: null, token: 'tok_undescribed' },
  ...kindSources.flatMap((source) =>
    [true, false].map((hsaFsa) => ({ source, hsaFsa, token: 'tok_undescribed', isKnown: true })),
  ),
  { source: null, hsaFsa: null, token: 'tok_undescribed', isKnown: true },
];

const sessionOf = ({ eligible, rest, letter }: Cart) => {
  const name = letter ? 'letter_of_medical_necessity' : 'auto_substantiation';
  return fixture.session({
    lines: [
      ...(eligible > 0 ? [line({ unitAmount: eligible, class: name })] : []),
      ...(rest > 0 ? [line({ unitAmount: rest })] : []),
    ],
  });
};

/** What the fields of the page give it. */
async function typed(token: string): Promise<string> {
  const processor = fixture.context.processors.of(fixture.scope);
  const made = await processor.createPaymentMethod({ token }, { idempotencyKey: newId('request') });
  if (made.kind !== 'found') throw new Error(`The sandbox answered ${made.kind}`);
  return made.paymentMethodId;
}

/** The card, and whether the two cards were refused because the second one is, or may be, a health card as well. */
async function give(session: Session, kind: Kind, { slot, after, before }: Order) {
  const card = await typed(kind.token);
  if (kind.isKnown) {
    const given = { sessionId: session.id, testClockId: null, loc: [], offSession: false };
    const id = await adoptPageCard(fixture.context, fixture.scope, { ...given, processorPaymentMethodId: card });
    const said = 'update checkout.payment_methods set hsa_fsa = $2, hsa_fsa_source = $3 where id = $1';
    await fixture.test.admin(said, [id, kind.hsaFsa, kind.source]);
  }
  const beside = after ?? before;
  const ordinary = beside === undefined ? undefined : { card: await typed('tok_visa'), slot: beside as CardSlot };
  const own = { card, slot };
  const [first, second] = before === undefined ? [own, ordinary] : [ordinary, own];
  const paying = completeOnPage(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethod: first?.card, secondPaymentMethod: second?.card },
    ...{ slot: first?.slot, secondSlot: second?.slot },
    ...{ shippingDetails: null, onPage: true, refusesHealthCards: false },
  });
  const code = await paying.then(
    () => undefined,
    (failure: { code?: string }) => failure.code,
  );
  if (code !== undefined) expect(code).toBe('other_payment_method_required');
  return { card, isRefused: code !== undefined };
}

/** What was charged or held, by the card's identifier at the processor. */
async function charged(session: Session): Promise<Map<string, number>> {
  const rows = await fixture.test.admin<{ card: string; cents: number }>(
    `select p.processor_payment_method_id as card, sum(a.amount_cents)::int as cents
     from checkout.charge_attempts a join checkout.page_cards p on p.payment_method_id = a.payment_method_id
     where a.subject_id = $1 and a.status = 'succeeded' group by 1`,
    [session.id],
  );
  return new Map(rows.map(({ card, cents }) => [card, cents]));
}

const sum = (amounts: Iterable<number>) => [...amounts].reduce((total, amount) => total + amount, 0);

describe('each way of paying each cart on the page', () => {
  it.each(kinds)(
    'charges nothing ineligible to a card that is, or may be, a health card: $hsaFsa by $source, known before: $isKnown [D6.3, D14.70]',
    async (kind) => {
      if (kind.issuerRange !== undefined) {
        await importIssuerRanges(fixture.database, `first,last,hsa_fsa\n400006,400006,${kind.issuerRange}`);
      }
      const paid = { whole: 0, eligibleAlone: 0 };
      for (const cart of carts) {
        for (const order of orders as readonly Order[]) {
          const of = JSON.stringify({ cart, order });
          const session = await sessionOf(cart);
          const { card, isRefused } = await give(session, kind, order);
          const byCard = await charged(session);
          const own = byCard.get(card) ?? 0;
          const total = sum(byCard.values());
          const isUnknown = kind.hsaFsa === null && order.slot === undefined;
          const mayBeHealth = kind.hsaFsa === true || order.slot === 'health' || isUnknown;
          if (mayBeHealth) expect(own, of).toBeLessThanOrEqual(cart.eligible);
          // The shopper called the other card a health card.
          if ((order.after ?? order.before) === 'health') expect(total - own, of).toBeLessThanOrEqual(cart.eligible);
          // Two health cards are refused where the eligible part is not all, and nothing is held.
          const isSplit = cart.eligible > 49 && cart.rest > 49;
          expect(isRefused, of).toBe(mayBeHealth && isSplit && (order.after ?? order.before) === 'health');
          if (isRefused) expect(total, of).toBe(0);
          // Nothing is taken twice: all of the cart, or its eligible part while another card is asked for.
          expect([0, cart.eligible, cart.eligible + cart.rest], of).toContain(total);
          expect(sum((await fixture.charges(session)).map(({ amount }) => amount)), of).toBe(total);
          if (total === cart.eligible + cart.rest) paid.whole += 1;
          else if (total > 0) paid.eligibleAlone += 1;
        }
      }
      // It would prove nothing if nothing were charged.
      expect(paid.whole).toBeGreaterThanOrEqual(carts.length);
      if (kind.hsaFsa !== false) expect(paid.eligibleAlone).toBeGreaterThan(0);
    },
    120_000,
  );
});
