import type { CheckoutPage, LineItem } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64, shippingCountriesOf } from '@eligo/values';
import { renderCheckoutSession } from '../resources/checkout-session.ts';
import type { PageAuthentication, PageLine, PageState, PageView } from './page-view.ts';

/** The shop as its page shows it. */
export interface PageShop {
  readonly name: string;
  readonly logoUrl: string | null;
  readonly accentColor: string | null;
  /** Where an order may be sent. */
  readonly shippingCountries: readonly string[];
  /** The key of its card fields in live mode. */
  readonly publishableKey: string | null;
}

/** What the browser of a session's shopper is told: what the page shows, and no more of the session. */
export function renderPage(page: CheckoutPage, shop: PageShop, sandboxUrl: string | undefined): PageView {
  const { session: message } = page;
  if (message === undefined) throw new Error('The checkout page has no session');
  const session = renderCheckoutSession(message);
  const { total_details: totals } = session;
  const dueNow = centsFromInt64(page.dueNowCents);
  const healthCard = centsFromInt64(page.healthCardCents);
  // As checkout tells the processor: a letter may be reviewed for longer than a card is held.
  const isReviewed = session.letter_of_medical_necessity_required && session.mode !== 'reimbursement';
  const isManual = session.capture_method === 'manual';
  const paysOnce = session.mode === 'payment' || session.mode === 'reimbursement';
  const keepsCard = !paysOnce || session.setup_future_use !== null || isReviewed;
  const isOnSessionOnly = paysOnce && session.setup_future_use === 'on_session' && !isReviewed;
  const terms = { testMode: session.test_mode, keepsCard, isOnSessionOnly };
  const fields = cardFieldsOf(page, terms, shop.publishableKey, sandboxUrl);
  return {
    state: stateOf(page),
    payment_in_flight: page.paymentInFlight,
    mode: session.mode,
    test_mode: session.test_mode,
    expires_at: session.expires_at,
    shop: { name: shop.name, logo_url: shop.logoUrl, accent_color: shop.accentColor },
    lines: page.lineItems.map(lineOf),
    totals: {
      subtotal: session.amount_subtotal,
      discount: totals.amount_discount,
      shipping: totals.amount_shipping,
      tax: totals.amount_tax,
      fees: totals.amount_fee,
      total: session.amount_total,
    },
    split_version: page.splitVersion ?? null,
    promo_code: {
      can_change: page.takesPromoCode,
      entered:
        page.promoCode === undefined
          ? null
          : { code: page.promoCode, amount: centsFromInt64(page.promoCodeCents ?? 0n) },
    },
    shipping_name: session.shipping_options?.display_name ?? null,
    due_now: dueNow,
    health_card_amount: healthCard,
    other_card_amount: dueNow - healthCard,
    refuses_health_cards: page.refusesHealthCards,
    trial_end: page.trialEndMs === undefined ? null : Number(page.trialEndMs) / 1_000,
    first_renewal: renewalOf(page),
    manual_capture: isManual && session.status !== 'complete',
    amount_captured: isManual ? session.amount_received : null,
    letter_required: isReviewed,
    letter_denied: page.lineItems.some((line) => line.eligibility?.rule === letterDenied),
    asks_letter_questions: page.asksLetterQuestions,
    next_action: session.next_action,
    collects_email: page.collectsEmail,
    email: page.shopperEmail ?? null,
    collects_address: session.shipping_address_collection,
    shipping_countries: shippingCountriesOf(shop.shippingCountries, page.session?.shippingDetails?.country),
    shipping_details: session.shipping_details,
    custom_text: session.custom_text,
    card_fields: fields,
    authentication: authenticationOf(page.clientSecret, fields),
    success_url: session.success_url,
    cancel_url: session.cancel_url,
  };
}

// The rule by which checkout decides the lines of a letter that was denied while the shopper was on the page.
const letterDenied = 'letter_denied';

function stateOf({ session, timeOver }: CheckoutPage): PageState {
  const status = session?.status;
  if (status === 'open') return timeOver ? 'expired' : 'open';
  // As checkout decides it: after the last approval, and where an ordinary card pays, no letter is awaited.
  const awaitsLetters = session?.nextAction?.type === 'collect_letter_of_medical_necessity';
  if (status === 'paid') return awaitsLetters ? 'letter_pending' : 'complete';
  return status === 'complete' || status === 'canceled' ? status : 'expired';
}

function renewalOf({ renewalCents, renewalHealthCardCents }: CheckoutPage): PageView['first_renewal'] {
  if (renewalCents === undefined || renewalHealthCardCents === undefined) return null;
  const healthCard = centsFromInt64(renewalHealthCardCents);
  return { health_card_amount: healthCard, other_card_amount: centsFromInt64(renewalCents) - healthCard };
}

function lineOf(line: LineItem): PageLine {
  const { recurring } = line;
  return {
    description: line.description ?? null,
    quantity: Number(line.quantity),
    amount_subtotal: centsFromInt64(line.amountSubtotalCents),
    amount_eligible: centsFromInt64(line.amountEligibleCents),
    eligibility: line.eligibility?.hsaFsaEligibility ?? null,
    recurring:
      recurring === undefined ? null : { interval: recurring.interval, interval_count: recurring.intervalCount },
  };
}

/**
 * Card numbers are typed into a frame of the processor's own origin. Live pages show Stripe's fields where the operator has set the account's key.
 */
export function cardFieldsOf(
  { processor, processorAccount }: Pick<CheckoutPage, 'processor' | 'processorAccount'>,
  terms: { readonly testMode: boolean; readonly keepsCard: boolean; readonly isOnSessionOnly: boolean },
  publishableKey: string | null,
  sandboxUrl: string | undefined,
): PageView['card_fields'] {
  if (processor === undefined) return null;
  if (!terms.testMode && publishableKey !== null) {
    return {
      kind: 'stripe',
      publishable_key: publishableKey,
      account: processorAccount ?? null,
      keeps_card: terms.keepsCard,
      on_session_only: terms.isOnSessionOnly,
    };
  }
  if (processor !== 'sandbox' || processorAccount === undefined || sandboxUrl === undefined) return null;
  const url = new URL(`${sandboxUrl}/fields/card`);
  url.searchParams.set('account', processorAccount);
  return { kind: 'sandbox', url: url.href, origin: url.origin };
}

/** Whose fields took the card carries the authentication out. The secret is in the fragment, which no server is sent. */
export function authenticationOf(
  clientSecret: string | undefined,
  fields: PageView['card_fields'],
): PageAuthentication | null {
  if (clientSecret === undefined || fields === null) return null;
  if (fields.kind === 'sandbox') {
    return { kind: 'sandbox', url: `${fields.origin}/fields/challenge#${clientSecret}`, origin: fields.origin };
  }
  const { publishable_key, account } = fields;
  return { kind: 'stripe', publishable_key, account, client_secret: clientSecret };
}
