import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { type CheckoutPage, CheckoutPageSchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { Session, SessionLine } from '../domain/session.ts';
import { lineItemMessage } from './line-item.ts';
import { sessionMessage } from './session.ts';

/** The message of a session's checkout page. */
export function pageMessage(
  scope: Scope,
  page: {
    readonly session: Session;
    readonly lines: readonly SessionLine[];
    readonly paymentInFlight: boolean;
    readonly timeOver: boolean;
    readonly dueNowCents: number;
    readonly healthCardCents: number;
    readonly trialEnd: Date | null;
    readonly cardFields: { readonly processor: string; readonly account: string | undefined } | undefined;
  },
): CheckoutPage {
  return create(CheckoutPageSchema, {
    session: sessionMessage(scope, page.session),
    lineItems: page.lines.map(lineItemMessage),
    paymentInFlight: page.paymentInFlight,
    timeOver: page.timeOver,
    dueNowCents: BigInt(page.dueNowCents),
    healthCardCents: BigInt(page.healthCardCents),
    ...present({
      trialEndMs: page.trialEnd === null ? undefined : BigInt(page.trialEnd.getTime()),
      processor: page.cardFields?.processor,
      processorAccount: page.cardFields?.account,
    }),
  });
}
