/** What the issuer of a test card does when it is charged. */
export type Behaviour =
  | { kind: 'approve' }
  | { kind: 'decline'; code: string; declineCode: string; message: string }
  /** There is this much on the card: a part is approved where the payment asks for it, and more than this is declined otherwise. */
  | { kind: 'short'; balance: number }
  /** `whenAsked`: only where the payment asks for it (`request_three_d_secure`). */
  | { kind: 'authenticate'; whenAsked: boolean }
  | { kind: 'dispute' }
  | { kind: 'inquiry' }
  | { kind: 'refund_pending' }
  | { kind: 'refund_fails' };

export interface TestCard {
  /** The name under which a payment method remembers its card: the number itself is never stored. */
  name: string;
  number: string;
  token: string;
  brand: 'visa' | 'mastercard';
  funding: 'credit' | 'debit' | 'prepaid';
  country: string;
  /** First six digits; Stripe's `card.iin`. */
  iin: string;
  last4: string;
  issuer: string;
  /** The issuing range in words; Stripe's `card.description`. The word HSA or FSA in it names a health card. Null where the processor does not give it. */
  description: string | null;
  behaviour: Behaviour;
  /** Its issuer declines a charge, and not that it is kept. */
  attachesAlways?: boolean;
  /** Whether a hold on it can be captured in several parts: Stripe's `multicapture`. */
  severalCaptures: boolean;
}

const approve: Behaviour = { kind: 'approve' };

/** The cards that exist here. Any other number is refused as a card that is not a test card. */
export const testCards: readonly TestCard[] = [
  card('visa', '4242424242424242', 'visa', 'credit', 'Visa Credit', approve),
  card('debit', '4000056655665556', 'visa', 'debit', 'Visa Debit', approve),
  card('mastercard', '5555555555554444', 'mastercard', 'credit', 'Mastercard Credit', approve),
  card('hsa', '4000051230000072', 'visa', 'debit', 'Visa Healthcare HSA', approve),
  card('fsa', '4000051230000080', 'visa', 'prepaid', 'Visa Healthcare FSA', approve),
  card('undescribed', '4000060000000014', 'visa', 'debit', null, approve),
  { ...card('singleCapture', '4000060000000022', 'visa', 'debit', 'Visa Debit', approve), severalCaptures: false },
  card('chargeDeclined', '4000000000000002', 'visa', 'credit', 'Visa Credit', declined('generic_decline')),
  {
    ...card('chargeCustomerFail', '4000000000000341', 'visa', 'credit', 'Visa Credit', declined('generic_decline')),
    attachesAlways: true,
  },
  card('hsaDeclined', '4000051230000064', 'visa', 'debit', 'Visa Healthcare HSA', declined('generic_decline')),
  card(
    'hsaInsufficientFunds',
    '4000051230000098',
    'visa',
    'debit',
    'Visa Healthcare HSA',
    declined('insufficient_funds', 'card_declined', 'Your card has insufficient funds.'),
  ),
  card('hsaShort', '4000051230000106', 'visa', 'debit', 'Visa Healthcare HSA', { kind: 'short', balance: 2_500 }),
  card(
    'chargeDeclinedInsufficientFunds',
    '4000000000009995',
    'visa',
    'credit',
    'Visa Credit',
    declined('insufficient_funds', 'card_declined', 'Your card has insufficient funds.'),
  ),
  card(
    'chargeDeclinedExpiredCard',
    '4000000000000069',
    'visa',
    'credit',
    'Visa Credit',
    declined('expired_card', 'expired_card', 'Your card has expired.'),
  ),
  card(
    'chargeDeclinedProcessingError',
    '4000000000000119',
    'visa',
    'credit',
    'Visa Credit',
    declined('processing_error', 'processing_error', 'An error occurred while processing your card. Try again later.'),
  ),
  card('chargeDeclinedLostCard', '4000000000009987', 'visa', 'credit', 'Visa Credit', declined('lost_card')),
  card('authenticationRequired', '4000002500003155', 'visa', 'credit', 'Visa Credit', {
    kind: 'authenticate',
    whenAsked: false,
  }),
  card('authenticationSupported', '4000000000003055', 'visa', 'credit', 'Visa Credit', {
    kind: 'authenticate',
    whenAsked: true,
  }),
  card('createDispute', '4000000000000259', 'visa', 'credit', 'Visa Credit', { kind: 'dispute' }),
  card('createInquiry', '4000000000001976', 'visa', 'credit', 'Visa Credit', { kind: 'inquiry' }),
  card('pendingRefund', '4000000000007726', 'visa', 'credit', 'Visa Credit', { kind: 'refund_pending' }),
  card('refundFail', '4000000000005126', 'visa', 'credit', 'Visa Credit', { kind: 'refund_fails' }),
];

const byName = new Map(testCards.map((entry) => [entry.name, entry]));
const byNumber = new Map(testCards.map((entry) => [entry.number, entry]));
const byToken = new Map(testCards.map((entry) => [entry.token, entry]));

export function cardByName(name: string): TestCard | undefined {
  return byName.get(name);
}

export function cardByNumber(number: string): TestCard | undefined {
  return byNumber.get(number.replaceAll(/[ -]/g, ''));
}

/** A card by its token: `tok_visa`, or the ready payment method `pm_card_visa`. */
export function cardByToken(token: string): TestCard | undefined {
  return byToken.get(token.replace(/^pm_card_/, 'tok_'));
}

function card(
  name: string,
  number: string,
  brand: TestCard['brand'],
  funding: TestCard['funding'],
  description: string | null,
  behaviour: Behaviour,
): TestCard {
  return {
    name,
    number,
    token: `tok_${name}`,
    brand,
    funding,
    country: 'US',
    iin: number.slice(0, 6),
    last4: number.slice(-4),
    issuer: 'Sandbox Bank',
    description,
    behaviour,
    severalCaptures: true,
  };
}

function declined(declineCode: string, code = 'card_declined', message = 'Your card was declined.'): Behaviour {
  return { kind: 'decline', code, declineCode, message };
}
