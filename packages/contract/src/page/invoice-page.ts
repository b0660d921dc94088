import type { InvoicePage } from '@eligo/proto/billing/v1/billing';
import { centsFromInt64 } from '@eligo/values';
import { authenticationOf, cardFieldsOf, type PageShop } from './checkout-page.ts';
import type { PageState, PageView } from './page-view.ts';

/** What the browser of an invoice's customer is told: the same as of a session, with what remains to be paid. */
export function renderInvoicePage(
  page: InvoicePage,
  productNames: ReadonlyMap<string, string>,
  shop: PageShop,
  sandboxUrl: string | undefined,
): PageView {
  const { invoice } = page;
  if (invoice === undefined) throw new Error('The page has no invoice');
  const dueNow = centsFromInt64(page.dueCents);
  const healthCard = centsFromInt64(page.healthCardCents);
  const terms = { testMode: invoice.testMode, keepsCard: true, isOnSessionOnly: false };
  const fields = cardFieldsOf(page, terms, shop.publishableKey, sandboxUrl);
  return {
    state: stateOf(page),
    payment_in_flight: page.paymentInFlight,
    mode: 'subscription',
    test_mode: invoice.testMode,
    expires_at: Number(invoice.periodEndMs) / 1_000,
    shop: { name: shop.name, logo_url: shop.logoUrl, accent_color: shop.accentColor },
    lines: page.lines.map((line) => ({
      description: productNames.get(line.productId ?? '') || null,
      quantity: Number(line.quantity),
      amount_subtotal: centsFromInt64(line.subtotalCents),
      amount_eligible: centsFromInt64(line.eligibleCents),
      eligibility: line.eligibility ?? null,
      recurring:
        line.interval === undefined ? null : { interval: line.interval, interval_count: Number(line.intervalCount) },
    })),
    totals: {
      subtotal: page.lines.reduce((sum, line) => sum + centsFromInt64(line.subtotalCents), 0),
      discount: centsFromInt64(page.discountCents),
      shipping: centsFromInt64(page.shippingCents),
      tax: centsFromInt64(page.taxCents),
      fees: 0,
      total: centsFromInt64(invoice.totalCents),
    },
    split_version: null,
    promo_code: { can_change: false, entered: null },
    shipping_name: null,
    due_now: dueNow,
    health_card_amount: healthCard,
    other_card_amount: dueNow - healthCard,
    refuses_health_cards: page.refusesHealthCards,
    trial_end: null,
    first_renewal: null,
    manual_capture: false,
    amount_captured: null,
    letter_required: false,
    letter_denied: false,
    asks_letter_questions: false,
    next_action: failureOf(page),
    collects_email: false,
    email: null,
    collects_address: false,
    shipping_countries: shop.shippingCountries,
    shipping_details: null,
    custom_text: null,
    card_fields: fields,
    authentication: authenticationOf(page.clientSecret, fields),
    success_url: null,
    cancel_url: null,
  };
}

function stateOf({ invoice, payable }: InvoicePage): PageState {
  if (payable) return 'open';
  return invoice?.status === 'paid' ? 'complete' : 'canceled';
}

function failureOf({ failureCode, declineCode, payable }: InvoicePage): PageView['next_action'] {
  if (failureCode === undefined || !payable) return null;
  const failed = { message: null, url: null, decline_code: declineCode ?? null, error_code: failureCode };
  return { type: 'payment_failed', payment_failed: failed };
}
