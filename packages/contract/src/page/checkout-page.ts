import type { CheckoutPage, LineItem } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { renderCheckoutSession } from '../resources/checkout-session.ts';
import type { PageLine, PageState, PageView } from './page-view.ts';

/** The shop as its page shows it. */
export interface PageShop {
  readonly name: string;
  readonly logoUrl: string | null;
  readonly accentColor: string | null;
}

/** What the browser of a session's shopper is told: what the page shows, and no more of the session. */
export function renderPage(page: CheckoutPage, shop: PageShop, sandboxUrl: string | undefined): PageView {
  const { session: message } = page;
  if (message === undefined) throw new Error('The checkout page has no session');
  const session = renderCheckoutSession(message);
  const { total_details: totals } = session;
  const dueNow = centsFromInt64(page.dueNowCents);
  const healthCard = centsFromInt64(page.healthCardCents);
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
    shipping_name: session.shipping_options?.display_name ?? null,
    due_now: dueNow,
    health_card_amount: healthCard,
    other_card_amount: dueNow - healthCard,
    trial_end: page.trialEndMs === undefined ? null : Number(page.trialEndMs) / 1_000,
    manual_capture: session.capture_method === 'manual',
    letter_required: session.letter_of_medical_necessity_required,
    next_action: session.next_action,
    collects_address: session.shipping_address_collection,
    shipping_details: session.shipping_details,
    custom_text: session.custom_text,
    card_fields: cardFieldsOf(page, sandboxUrl),
    success_url: session.success_url,
    cancel_url: session.cancel_url,
  };
}

function stateOf({ session, timeOver }: CheckoutPage): PageState {
  const status = session?.status;
  if (status === 'open') return timeOver ? 'expired' : 'open';
  if (status === 'paid') return session?.letterOfMedicalNecessityRequired ? 'letter_pending' : 'complete';
  return status === 'complete' || status === 'canceled' ? status : 'expired';
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

// Card numbers are typed into a frame of the processor's own origin. Stripe's fields are not served yet, so live pages have none.
function cardFieldsOf(page: CheckoutPage, sandboxUrl: string | undefined): PageView['card_fields'] {
  const { processor, processorAccount } = page;
  if (processor !== 'sandbox' || processorAccount === undefined || sandboxUrl === undefined) return null;
  const url = new URL(`${sandboxUrl}/fields/card`);
  url.searchParams.set('account', processorAccount);
  return { url: url.href, origin: url.origin };
}
