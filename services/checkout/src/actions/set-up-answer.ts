import type { CardAgreement, SetupOutcome } from '@eligo/processor';

/** What came of the authentication of a card that is saved. */
export type SetUpAnswer =
  | {
      readonly kind: 'saved';
      readonly processorPaymentMethodId: string | undefined;
      readonly agreement: CardAgreement | undefined;
    }
  | { readonly kind: 'refused'; readonly code: string; readonly declineCode?: string };

/** The answer of the bank; undefined while it waits for the shopper, and while the processor does not say. */
export function setUpAnswerOf(known: SetupOutcome): SetUpAnswer | undefined {
  switch (known.kind) {
    case 'succeeded':
      return { kind: 'saved', processorPaymentMethodId: known.paymentMethodId, agreement: known.agreement };
    case 'canceled':
      return { kind: 'refused', code: 'authentication_required', declineCode: 'authentication_required' };
    case 'confirmable':
      return { kind: 'refused', code: 'setup_intent_authentication_failure' };
    case 'declined':
      return {
        kind: 'refused',
        code: known.code,
        ...(known.declineCode === undefined ? {} : { declineCode: known.declineCode }),
      };
    default:
      return undefined;
  }
}
