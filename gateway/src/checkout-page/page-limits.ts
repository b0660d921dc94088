import type { IncomingMessage } from 'node:http';
import { Failure } from '@eligo/failures';
import { clientNetwork } from '../http/client-network.ts';
import { RateLimiter } from '../http/rate-limiter.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';

/** Requests per second that an address and the page of one session or invoice may make, in bursts of four seconds. A page that waits asks once a second. */
const perSecond = { address: 25, session: 5 };
/** Payments: enough for a shopper who corrects a card, too few to try out stolen ones. */
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

/** Limits what browsers without a key may ask for. */
export class PageLimits {
  readonly #limiter = new RateLimiter();
  readonly #proxies: TrustedProxies;

  constructor(proxies: TrustedProxies) {
    this.#proxies = proxies;
  }

  /** Throws `rate_limited` where the address makes too many requests. Tokens that are no tokens count, too. */
  takeFromAddress({ socket, headers }: IncomingMessage, kind: PageRequest): void {
    const client = this.#proxies.clientOf(socket.remoteAddress ?? 'unknown', headers['x-forwarded-for']?.toString());
    this.#take(`${kind} address ${clientNetwork(client)}`, limits[kind].address);
  }

  /** The same for the page of a session, from wherever. */
  takeFromSession(sessionId: string, kind: PageRequest): void {
    this.#take(`${kind} ${sessionId}`, limits[kind].session);
  }

  /** Counts a look at a page by its document; false where its script's request would be refused. */
  allowsLook(sessionId: string): boolean {
    return this.#allows(() => this.takeFromSession(sessionId, 'request'));
  }

  /** Counts a payment that a look at a page leads to; false where a request to pay would be refused. */
  allowsPayment(request: IncomingMessage, sessionId: string): boolean {
    return this.#allows(() => {
      this.takeFromAddress(request, 'payment');
      this.takeFromSession(sessionId, 'payment');
    });
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
