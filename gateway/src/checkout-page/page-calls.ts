import { type PagePayment, type PageView, pagePaymentSchema, renderPage, screen, violationsOf } from '@eligo/contract';
import { Failure, type Violation } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import type { CheckoutPage } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import type { PageSubject } from '@eligo/service';
import { findShop } from '../accounts/find-shop.ts';
import { awaitSubscription } from '../await-subscription.ts';
import { moneyCall } from '../http/call-budget.ts';
import type { Peers } from '../peers.ts';

/** What the page of a session can ask of the gateway. Each answers with the page as it then is. */
export interface PageCalls {
  view(subject: PageSubject, call: CallOptions): Promise<PageView>;
  pay(subject: PageSubject, sent: unknown, call: CallOptions): Promise<PageView>;
  cancel(subject: PageSubject, call: CallOptions): Promise<PageView>;
}

export function pageCalls(parts: { peers: Peers; database: Database; sandboxUrl: string | undefined }): PageCalls {
  const { peers, database, sandboxUrl } = parts;
  const { checkout } = peers;

  async function view({ accountId, id }: PageSubject, call: CallOptions): Promise<PageView> {
    const [page, shop] = await Promise.all([checkout.getPage({ id }, call), findShop(database, accountId)]);
    if (shop === undefined) throw new Failure('checkout_session_not_found');
    return renderPage(page, shop, sandboxUrl);
  }

  return {
    view,
    async pay(subject, sent, call) {
      const startedAt = performance.now();
      const payment = readPayment(sent);
      requireWhatIsAsked(payment, await checkout.getPage({ id: subject.id }, call));
      const session = await checkout.completeSession(completionOf(subject.id, payment), moneyCall(call));
      await awaitSubscription(peers, session, call, performance.now() - startedAt);
      return view(subject, call);
    },
    async cancel(subject, call) {
      await checkout.cancelSession({ id: subject.id }, moneyCall(call));
      return view(subject, call);
    },
  };
}

function readPayment(sent: unknown): PagePayment {
  const screened = screen(sent, 'body');
  if (screened !== undefined) throw Failure.violations([screened]);
  const read = pagePaymentSchema.safeParse(sent);
  if (!read.success) throw Failure.violations(violationsOf(read.error, 'body', [], sent));
  return read.data;
}

// The page asks for these; a request that is made by hand gets no further without them.
function requireWhatIsAsked(payment: PagePayment, { session, dueNowCents }: CheckoutPage): void {
  const missing: Violation[] = [];
  const need = (field: string) => missing.push({ loc: ['body', field], msg: 'Field required', type: 'missing' });
  // A card is set up for what comes later where nothing is due at once.
  if (payment.cards.length === 0 && (dueNowCents > 0n || session?.mode !== 'payment')) need('cards');
  const isAddressKnown = payment.shipping_details !== undefined || session?.shippingDetails !== undefined;
  if (session?.shippingAddressCollection && !isAddressKnown) need('shipping_details');
  if (session?.customText?.termsOfServiceCheckboxRequired && payment.terms_accepted !== true) need('terms_accepted');
  // Of a session that has ended, checkout says so.
  if (missing.length > 0 && session?.status === 'open') throw Failure.violations(missing);
}

// The health card goes first: it is the one that a subscription renews with.
function completionOf(id: string, { cards, shipping_details: address }: PagePayment) {
  const [first, second] = cards.toSorted((one, other) => one.slot.localeCompare(other.slot));
  return {
    id,
    onPage: true,
    ...(first === undefined ? {} : { paymentMethod: first.payment_method, paymentMethodSlot: first.slot }),
    ...(second === undefined
      ? {}
      : { secondPaymentMethod: second.payment_method, secondPaymentMethodSlot: second.slot }),
    ...(address === undefined ? {} : { shippingDetails: addressMessage(address) }),
  };
}

function addressMessage({
  line1,
  line2,
  city,
  state,
  postal_code,
  country,
}: NonNullable<PagePayment['shipping_details']>) {
  return { line1, city, state, postalCode: postal_code, country, ...(line2 ? { line2 } : {}) };
}
