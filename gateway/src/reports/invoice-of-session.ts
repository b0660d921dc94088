import type { Substantiation } from '@eligo/proto/checkout/v1/checkout';
import { eligibilityInWords } from '@eligo/values';
import { productName } from './product-name.ts';

/** What an invoice is of that was paid with the session that sold its subscription. */
export interface SoldByASession {
  readonly items: readonly { readonly name: string; readonly notes: readonly string[]; readonly cents: number }[];
  readonly amounts: readonly (readonly [name: string, cents: number])[];
  readonly eligibleCents: number;
  readonly payments: readonly {
    readonly leg: string;
    readonly paymentMethodId: string | undefined;
    readonly paymentIntentId: string | undefined;
    readonly amountCents: bigint;
    readonly atMs: bigint;
  }[];
}

/** The items of the session with their shares of discounts, shipping, tax and fees, and what each card paid. */
export function soldByASession(proof: Substantiation, names: ReadonlyMap<string, string>): SoldByASession {
  const { session, lines, payments } = proof;
  if (session === undefined) throw new Error('A substantiation has no session');
  const details = session.totalDetails;
  const amounts: [string, number][] = [
    ['Items', Number(session.amountSubtotalCents)],
    ['Discounts', -Number(details?.amountDiscountCents ?? 0n)],
    ['Shipping', Number(details?.amountShippingCents ?? 0n)],
    ['Tax', Number(details?.amountTaxCents ?? 0n)],
    ['Fees', Number(details?.amountFeeCents ?? 0n)],
  ];
  return {
    items: lines.flatMap(({ line }) => {
      if (line === undefined) return [];
      const isEligible = line.amountEligibleCents > 0n;
      const eligibility = isEligible ? (line.eligibility?.hsaFsaEligibility ?? null) : null;
      return [
        {
          name: `${line.quantity} × ${line.description || productName(names, line.productId)}`,
          notes: [eligibilityInWords(eligibility)],
          cents: Number(line.amountTotalCents),
        },
      ];
    }),
    amounts: amounts.filter(([, cents]) => cents !== 0),
    eligibleCents: lines.reduce((sum, { line }) => sum + Number(line?.amountEligibleCents ?? 0n), 0),
    payments: payments.flatMap(({ leg, charge, paymentMethod }) =>
      charge === undefined
        ? []
        : [
            {
              leg,
              paymentMethodId: paymentMethod?.paymentMethodId,
              paymentIntentId: charge.paymentIntentId,
              amountCents: charge.amountCapturedCents,
              atMs: charge.createdAtMs,
            },
          ],
    ),
  };
}
