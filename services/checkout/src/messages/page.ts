import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { type CheckoutPage, CheckoutPageSchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import { enteredDiscount } from '../domain/repricing.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { lineItemMessage } from './line-item.ts';
import { sessionMessage } from './session.ts';

/** The message of a session's checkout page. */
export function pageMessage(
  scope: Scope,
  page: {
    readonly session: Session;
    readonly lines: readonly SessionLine[];
    readonly splitVersion: string | null;
    readonly paymentInFlight: boolean;
    readonly isSetUpAnswered: boolean;
    readonly timeOver: boolean;
    readonly dueNowCents: number;
    readonly healthCardCents: number;
    readonly refusesHealthCards: boolean;
    readonly trialEnd: Date | null;
    readonly renewal: { readonly totalCents: number; readonly healthCardCents: number } | undefined;
    readonly clientSecret: string | undefined;
    readonly asksLetterQuestions: boolean;
    readonly takesPromoCode: boolean;
    readonly collectsEmail: boolean;
    readonly cardFields: { readonly processor: string; readonly account: string | undefined } | undefined;
  },
): CheckoutPage {
  const entered = enteredDiscount(page.session.discounts);
  return create(CheckoutPageSchema, {
    session: sessionMessage(scope, page.session),
    lineItems: page.lines.map(lineItemMessage),
    paymentInFlight: page.paymentInFlight,
    setUpAnswered: page.isSetUpAnswered && !page.timeOver,
    timeOver: page.timeOver,
    dueNowCents: BigInt(page.dueNowCents),
    healthCardCents: BigInt(page.healthCardCents),
    refusesHealthCards: page.refusesHealthCards,
    asksLetterQuestions: page.asksLetterQuestions,
    takesPromoCode: page.takesPromoCode,
    collectsEmail: page.collectsEmail,
    ...present({
      splitVersion: page.splitVersion,
      promoCode: entered?.enteredCode,
      promoCodeCents: entered && BigInt(entered.amountCents),
      trialEndMs: page.trialEnd === null ? undefined : BigInt(page.trialEnd.getTime()),
      renewalCents: page.renewal && BigInt(page.renewal.totalCents),
      renewalHealthCardCents: page.renewal && BigInt(page.renewal.healthCardCents),
      clientSecret: page.clientSecret,
      shopperEmail: page.collectsEmail ? page.session.customerEmail : undefined,
      processor: page.cardFields?.processor,
      processorAccount: page.cardFields?.account,
    }),
  });
}
