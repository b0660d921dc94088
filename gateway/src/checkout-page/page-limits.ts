import type { IncomingMessage } from 'node:http';
import type { PageView } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { PageSubject } from '@eligo/service';
import { networkOf } from '../http/network-of.ts';
import { RateLimiter } from '../http/rate-limiter.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import { DeclinedCards } from './declined-cards.ts';

/** Requests per second that an address and the page of one session or invoice may make, in bursts of four seconds. A page that waits asks once a second. */
const perSecond = { address: 25, session: 5 };
/** Payments: enough for a shopper who corrects a card. Declined ones have a limit of their own. */
const paymentsPerSecond = { address: 3, session: 1 };
/** Answers to a letter's questions: each may be sealed and stored, and a session takes one. Enough for a shopper who sends them from two tabs. */
const answersPerSecond = { address: 3, session: 1 };
/** Promo codes, entered and removed: enough for a shopper who mistypes one, too few to guess one. A session takes twenty in all. */
const promoCodesPerSecond = { address: 2, session: 1 };
/** PDFs, each up to 0.04 s of CPU: enough for a customer who keeps each invoice. */
const documentsPerSecond = { address: 2, session: 1 };

const limits = {
  request: perSecond,
  payment: paymentsPerSecond,
  answers: answersPerSecond,
  promoCode: promoCodesPerSecond,
  document: documentsPerSecond,
};

/** What a browser asks for. */
type PageRequest = keyof typeof limits;

/** The payments that one client makes on the page of a record, within the limits. */
export interface PagePayments {
  /** Counts a payment that a look at the page leads to; false where a request to pay would be refused. */
  mayResume(): boolean;
  /** Carries out a payment with cards that were just typed. Throws `declined_cards_exceeded` if too many cards of the client were declined. */
  pay(payment: () => Promise<PageView>): Promise<PageView>;
  /** Continues a payment after an authentication. */
  resume(payment: () => Promise<PageView>): Promise<PageView>;
}

/** Limits what browsers without a key may ask for. */
export class PageLimits {
  readonly #limiter = new RateLimiter();
  readonly #declined = new DeclinedCards();
  readonly #proxies: TrustedProxies;

  constructor(proxies: TrustedProxies) {
    this.#proxies = proxies;
  }

  /** Throws `rate_limited` where the address makes too many requests. Tokens that are no tokens count, too. */
  takeFromAddress(request: IncomingMessage, kind: PageRequest): void {
    this.#take(`${kind} address ${networkOf(request, this.#proxies)}`, limits[kind].address);
  }

  /** The same for the page of a session, from wherever. */
  takeFromSession(sessionId: string, kind: PageRequest): void {
    this.#take(`${kind} ${sessionId}`, limits[kind].session);
  }

  /** Counts a look at a page by its document; false where its script's request would be refused. */
  allowsLook(sessionId: string): boolean {
    return this.#allows(() => this.takeFromSession(sessionId, 'request'));
  }

  /** The payments of the client that makes a request. */
  paymentsOf(request: IncomingMessage, { accountId, testMode, id }: PageSubject): PagePayments {
    const client = `${accountId} ${testMode ? 'test' : 'live'} ${networkOf(request, this.#proxies)}`;
    return {
      mayResume: () =>
        this.#allows(() => {
          this.takeFromAddress(request, 'payment');
          this.takeFromSession(id, 'payment');
        }),
      pay: (payment) => this.#declined.pay(client, payment),
      resume: (payment) => this.#declined.resume(client, payment),
    };
  }

  #allows(take: () => void): boolean {
    try {
      take();
      return true;
    } catch (error) {
      if (error instanceof Failure && error.code === 'rate_limited') return false;
      throw error;
    }
  }

  #take(name: string, limit: number): void {
    const { allowed, retryAfterSeconds } = this.#limiter.take(name, limit, performance.now());
    if (!allowed) throw new Failure('rate_limited', { retryAfterSeconds });
  }
}
