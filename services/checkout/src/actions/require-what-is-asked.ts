import { Failure, type Violation } from '@eligo/failures';
import { shippingCountriesOf } from '@eligo/values';
import type { Session } from '../domain/session.ts';
import type { CardsOfShopper } from './shopper-cards.ts';

/** What the shop and its page say of a payment, beside the session. */
export interface PageTerms {
  /** Where the shop sends orders to. */
  readonly shippingCountries: readonly string[];
  readonly termsAccepted: boolean;
}

/** Refuses a payment of an open session without what its page asks for. The page asks; a request that is made by hand gets no further without it. */
export function requireWhatIsAsked(
  session: Session,
  { paymentMethod, shippingDetails: address, shownSplit }: CardsOfShopper,
  { shippingCountries, termsAccepted }: PageTerms,
): void {
  // Of a session that has ended, the payment says so.
  if (session.status !== 'open') return;
  const { details } = session;
  const violations: Violation[] = [];
  const need = (...path: string[]) =>
    violations.push({ loc: ['body', ...path], msg: 'Field required', type: 'missing' });
  // A card is set up for what comes later where nothing is due at once.
  const isForLater = session.mode === 'subscription' || session.mode === 'setup';
  if (paymentMethod === undefined && (session.amountTotalCents > 0 || isForLater)) need('cards');
  if (details.shippingAddressCollection && address === null && session.shippingDetails === null)
    need('shipping_details');
  const country = address?.country ?? '';
  const served = shippingCountriesOf(shippingCountries, session.shippingDetails?.country);
  if (address !== null && !served.includes(country)) {
    const msg = 'The shop does not ship to this country';
    violations.push({ loc: ['body', 'shipping_details', 'country'], msg, type: 'not_allowed' });
  }
  for (const [field, value] of [
    ['state', address?.state],
    ['postal_code', address?.postalCode],
  ] as const) {
    if (country === 'US' && !value) need('shipping_details', field);
  }
  if (details.customText?.termsOfServiceCheckboxRequired && !termsAccepted) need('terms_accepted');
  // Its amounts can change in another tab.
  if (details.allowPromotionCodes && shownSplit === undefined) need('shown_split');
  if (violations.length > 0) throw Failure.violations(violations);
}
