import {
  type PagePayment,
  type PageSchema,
  type PageShop,
  type PageView,
  pageAuthenticationSchema,
  pageLetterSchema,
  pagePaymentSchema,
  pagePromoCodeSchema,
  renderPage,
  screen,
  shippingCountriesOf,
  violationsOf,
} from '@eligo/contract';
import { Failure, type Violation } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import type { CheckoutPage, CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import type { Logger, PageSubject } from '@eligo/service';
import { findShop } from '../accounts/find-shop.ts';
import { awaitSubscription } from '../await-subscription.ts';
import { moneyCall } from '../http/call-budget.ts';
import type { Peers } from '../peers.ts';

/** What the page of a session or an invoice can ask of the gateway. Each answers with the page as it then is. */
export interface PageCalls {
  /** The page as it is, for its document; undefined where a payment is under way, or it has a secret: its script asks then. */
  look(subject: PageSubject, shop: PageShop, call: CallOptions): Promise<PageView | undefined>;
  /** `mayGoOn` counts a payment, and says whether the limit allows it: a look that finds the answer of a bank goes on with a card that is saved. */
  view(subject: PageSubject, call: CallOptions, mayGoOn: () => boolean): Promise<PageView>;
  pay(subject: PageSubject, sent: unknown, call: CallOptions): Promise<PageView>;
  /** Finds out what came of an authentication. */
  authenticate(subject: PageSubject, sent: unknown, call: CallOptions): Promise<PageView>;
}

/** What the page of a session can ask beside. */
export interface SessionPageCalls extends PageCalls {
  /** Enters the promo code that the shopper typed, or removes it. */
  changePromoCode(subject: PageSubject, sent: unknown, call: CallOptions): Promise<PageView>;
  /** Gives the reviewer of the session's letters what the shopper answers. */
  answerLetter(subject: PageSubject, sent: unknown, call: CallOptions): Promise<PageView>;
  cancel(subject: PageSubject, call: CallOptions): Promise<PageView>;
}

export function pageCalls(parts: {
  peers: Peers;
  database: Database;
  sandboxUrl: string | undefined;
  logger: Logger;
}): SessionPageCalls {
  const { peers, database, sandboxUrl, logger } = parts;
  const { checkout } = peers;

  async function read({ accountId, id }: PageSubject, call: CallOptions) {
    const [page, shop] = await Promise.all([checkout.getPage({ id }, call), findShop(database, accountId)]);
    if (shop === undefined) throw new Failure('checkout_session_not_found');
    return { page, shop };
  }

  async function view(subject: PageSubject, call: CallOptions): Promise<PageView> {
    const { page, shop } = await read(subject, call);
    return renderPage(page, shop, sandboxUrl);
  }

  async function resume({ id }: PageSubject, giveUp: boolean, call: CallOptions): Promise<void> {
    const startedAt = performance.now();
    const session = await checkout.resumeAuthentication({ id, giveUp }, moneyCall(call));
    await awaitSubscription(peers, session, call, performance.now() - startedAt);
  }

  return {
    async look({ id }, shop, call) {
      const page = await checkout.getPage({ id, forDocument: true }, call);
      return withoutSecret(renderPage(page, shop, sandboxUrl));
    },
    async view(subject, call, mayGoOn) {
      const { page, shop } = await read(subject, call);
      if (!page.setUpAnswered || !mayGoOn()) return renderPage(page, shop, sandboxUrl);
      try {
        await resume(subject, false, call);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        logger.warn(
          { err: error, sessionId: subject.id },
          'Failed to continue the checkout after the authentication of a saved card; the next page view will retry',
        );
        return renderPage(page, shop, sandboxUrl);
      }
      return view(subject, call);
    },
    async pay(subject, sent, call) {
      const startedAt = performance.now();
      const payment = readBodyAs(pagePaymentSchema, sent);
      const { page, shop } = await read(subject, call);
      requireWhatIsAsked(payment, page, shippingCountriesOf(page, shop));
      const session = await checkout.completeSession(completionOf(subject.id, payment), moneyCall(call));
      await awaitSubscription(peers, session, call, performance.now() - startedAt);
      const paid = paidPage(page, session);
      return paid === undefined ? view(subject, call) : renderPage(paid, shop, sandboxUrl);
    },
    async authenticate(subject, sent, call) {
      const { give_up: giveUp = false } = readBodyAs(pageAuthenticationSchema, sent);
      await resume(subject, giveUp, call);
      return view(subject, call);
    },
    async changePromoCode(subject, sent, call) {
      const { code } = readBodyAs(pagePromoCodeSchema, sent);
      await checkout.changePromoCode({ id: subject.id, ...(code === null ? {} : { code }) }, call);
      return view(subject, call);
    },
    async answerLetter(subject, sent, call) {
      const answers = readBodyAs(pageLetterSchema, sent);
      await checkout.submitLetterAnswers({ checkoutSessionId: subject.id, answers: JSON.stringify(answers) }, call);
      return view(subject, call);
    },
    async cancel(subject, call) {
      await checkout.cancelSession({ id: subject.id }, moneyCall(call));
      return view(subject, call);
    },
  };
}

/** A view for the document of a page. The client secret of an authentication is told to the page's script alone. */
export function withoutSecret(view: PageView): PageView | undefined {
  return view.authentication === null && !view.payment_in_flight ? view : undefined;
}

// What a page shows of a payment that is over: the answer has all that has changed. Undefined where more happens: a letter, a subscription, a bank that asks.
function paidPage(page: CheckoutPage, session: CheckoutSession): CheckoutPage | undefined {
  if (session.status !== 'complete' || session.mode !== 'payment' || page.session?.status !== 'open') return undefined;
  const { clientSecret: _over, ...rest } = page;
  return { ...rest, session, paymentInFlight: false, takesPromoCode: false, asksLetterQuestions: false };
}

/** A checked body of a page. */
export function readBodyAs<Body>(schema: PageSchema<Body>, sent: unknown): Body {
  const screened = screen(sent, 'body');
  if (screened !== undefined) throw Failure.violations([screened]);
  const read = schema.safeParse(sent);
  if (!read.success) throw Failure.violations(violationsOf(read.error, 'body', [], sent));
  return read.data;
}

// The page asks for these; a request that is made by hand gets no further without them.
function requireWhatIsAsked(
  payment: PagePayment,
  { session, dueNowCents }: CheckoutPage,
  countries: readonly string[],
): void {
  const violations: Violation[] = [];
  const need = (...path: string[]) =>
    violations.push({ loc: ['body', ...path], msg: 'Field required', type: 'missing' });
  // A card is set up for what comes later where nothing is due at once.
  const isForLater = session?.mode === 'subscription' || session?.mode === 'setup';
  if (payment.cards.length === 0 && (dueNowCents > 0n || isForLater)) need('cards');
  const isAddressKnown = payment.shipping_details !== undefined || session?.shippingDetails !== undefined;
  if (session?.shippingAddressCollection && !isAddressKnown) need('shipping_details');
  const address = payment.shipping_details;
  if (address !== undefined && !countries.includes(address.country)) {
    const msg = 'The shop does not ship to this country';
    violations.push({ loc: ['body', 'shipping_details', 'country'], msg, type: 'not_allowed' });
  }
  for (const field of ['state', 'postal_code'] as const) {
    if (address?.country === 'US' && address[field] === '') need('shipping_details', field);
  }
  if (session?.customText?.termsOfServiceCheckboxRequired && payment.terms_accepted !== true) need('terms_accepted');
  // Its amounts can change in another tab.
  if (session?.allowPromotionCodes && payment.shown_split === undefined) need('shown_split');
  // Of a session that has ended, checkout says so.
  if (violations.length > 0 && session?.status === 'open') throw Failure.violations(violations);
}

// The health card goes first: it is the one that a subscription renews with.
function completionOf(id: string, { cards, shipping_details: address, shown_split: shownSplit }: PagePayment) {
  const [first, second] = cards.toSorted((one, other) => one.slot.localeCompare(other.slot));
  return {
    id,
    onPage: true,
    ...(first === undefined ? {} : { paymentMethod: first.payment_method, paymentMethodSlot: first.slot }),
    ...(second === undefined
      ? {}
      : { secondPaymentMethod: second.payment_method, secondPaymentMethodSlot: second.slot }),
    ...(address === undefined ? {} : { shippingDetails: addressMessage(address) }),
    ...(shownSplit === undefined ? {} : { shownSplit }),
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
  return {
    ...{ line1, city, country },
    ...(state ? { state } : {}),
    ...(postal_code ? { postalCode: postal_code } : {}),
    ...(line2 ? { line2 } : {}),
  };
}
