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
  violationsOf,
} from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { CallOptions } from '@eligo/rpc';
import type { Logger, PageSubject } from '@eligo/service';
import { awaitSubscription } from '../await-subscription.ts';
import { moneyCalls } from '../http/call-budget.ts';
import { isExpected } from '../http/to-failure.ts';
import type { Peers } from '../peers.ts';
import type { PagePayments } from './page-limits.ts';

/** A page that something is asked of, and the call in which it is carried out. */
export interface OpenPage {
  readonly subject: PageSubject;
  readonly shop: PageShop;
  readonly call: CallOptions;
  /** When its request was read, on the clock of performance.now(). What waits for its turn has less time left: the page counts the time of a payment from when it sent it. */
  readonly arrivedAtMs: number;
}

/** What the page of a session or an invoice can ask of the gateway. Each answers with the page as it then is. */
export interface PageCalls {
  /** The page as it is, for its document; undefined where a payment is under way, or it has a secret: its script asks then. */
  look(page: OpenPage): Promise<PageView | undefined>;
  /** A look that finds the answer of a bank resumes the payment with a saved card, within the limits of payments. */
  view(page: OpenPage, payments: PagePayments): Promise<PageView>;
  pay(page: OpenPage, sent: unknown): Promise<PageView>;
  /** Finds out what came of an authentication. */
  authenticate(page: OpenPage, sent: unknown): Promise<PageView>;
}

/** What the page of a session can ask beside. */
export interface SessionPageCalls extends PageCalls {
  /** Enters the promo code that the shopper typed, or removes it. */
  changePromoCode(page: OpenPage, sent: unknown): Promise<PageView>;
  /** Gives the reviewer of the session's letters what the shopper answers. */
  answerLetter(page: OpenPage, sent: unknown): Promise<PageView>;
  /** Cancels an open session. Checkout refuses one whose cards are authorized, which the page shows as done. */
  cancel(page: OpenPage): Promise<PageView>;
}

export function pageCalls(parts: { peers: Peers; sandboxUrl: string | undefined; logger: Logger }): SessionPageCalls {
  const { peers, sandboxUrl, logger } = parts;
  const { checkout } = peers;

  async function view({ subject, shop, call }: OpenPage): Promise<PageView> {
    return renderPage(await checkout.getPage({ id: subject.id }, call), shop, sandboxUrl);
  }

  async function resume({ subject, call, arrivedAtMs }: OpenPage, giveUp: boolean): Promise<void> {
    const session = await checkout.resumeAuthentication({ id: subject.id, giveUp }, moneyCalls(call, arrivedAtMs));
    await awaitSubscription(peers, session, call, performance.now() - arrivedAtMs);
  }

  return {
    async look({ subject, shop, call }) {
      const page = await checkout.getPage({ id: subject.id, forDocument: true }, call);
      return withoutSecret(renderPage(page, shop, sandboxUrl));
    },
    async view(open, payments) {
      const { subject, shop, call } = open;
      const page = await checkout.getPage({ id: subject.id }, call);
      if (!page.setUpAnswered || !payments.mayResume()) return renderPage(page, shop, sandboxUrl);
      try {
        return await payments.resume(async () => {
          await resume(open, false);
          return view(open);
        });
      } catch (error) {
        if (!isExpected(error)) throw error;
        logger.warn(
          { err: error, sessionId: subject.id },
          'Failed to continue the checkout after the authentication of a saved card; the next page view will retry',
        );
        return renderPage(page, shop, sandboxUrl);
      }
    },
    async pay(open, sent) {
      const { subject, shop, call, arrivedAtMs } = open;
      const payment = paymentOf(subject.id, readBodyAs(pagePaymentSchema, sent), shop);
      const { result } = await checkout.payOnPage(payment, moneyCalls(call, arrivedAtMs));
      if (result.case === 'page') return renderPage(result.value, shop, sandboxUrl);
      if (result.case === 'session') {
        await awaitSubscription(peers, result.value, call, performance.now() - arrivedAtMs);
      }
      return view(open);
    },
    async authenticate(open, sent) {
      const { give_up: giveUp = false } = readBodyAs(pageAuthenticationSchema, sent);
      await resume(open, giveUp);
      return view(open);
    },
    async changePromoCode(open, sent) {
      const { code } = readBodyAs(pagePromoCodeSchema, sent);
      await checkout.changePromoCode({ id: open.subject.id, ...(code === null ? {} : { code }) }, open.call);
      return view(open);
    },
    async answerLetter(open, sent) {
      const answers = JSON.stringify(readBodyAs(pageLetterSchema, sent));
      await checkout.submitLetterAnswers({ checkoutSessionId: open.subject.id, answers }, open.call);
      return view(open);
    },
    async cancel(open) {
      const { subject, call, arrivedAtMs } = open;
      await checkout.cancelSession({ id: subject.id, onlyOpen: true }, moneyCalls(call, arrivedAtMs));
      return view(open);
    },
  };
}

/** A view for the document of a page. The client secret of an authentication is told to the page's script alone. */
export function withoutSecret(view: PageView): PageView | undefined {
  return view.authentication === null && !view.payment_in_flight ? view : undefined;
}

/** A checked body of a page. */
export function readBodyAs<Body>(schema: PageSchema<Body>, sent: unknown): Body {
  const screened = screen(sent, 'body');
  if (screened !== undefined) throw Failure.violations([screened]);
  const read = schema.safeParse(sent);
  if (!read.success) throw Failure.violations(violationsOf(read.error, 'body', [], sent));
  return read.data;
}

// The health card goes first: it is the one that a subscription renews with.
function paymentOf(
  id: string,
  { cards, email, shipping_details: address, shown_split: shownSplit, terms_accepted: termsAccepted }: PagePayment,
  { shippingCountries }: PageShop,
) {
  const inOrder = cards.toSorted((one, other) => one.slot.localeCompare(other.slot));
  return {
    id,
    cards: inOrder.map(({ payment_method: paymentMethod, slot }) => ({ paymentMethod, slot })),
    ...{ shippingCountries: [...shippingCountries], termsAccepted: termsAccepted === true },
    ...(email === undefined ? {} : { email }),
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
