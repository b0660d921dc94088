import type { IncomingMessage } from 'node:http';
import { Failure } from '@eligo/failures';
import { clientNetwork } from '../http/client-network.ts';
import { RateLimiter } from '../http/rate-limiter.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';

/** Requests per second that an address and the page of one session may make, in bursts of four seconds. A page that waits asks once a second. */
const perSecond = { address: 25, session: 5 };
/** Payments: enough for a shopper who corrects a card, too few to try out stolen ones. */
const paymentsPerSecond = { address: 3, session: 1 };

/** Limits what browsers without a key may ask for. */
export class PageLimits {
  readonly #limiter = new RateLimiter();
  readonly #proxies: TrustedProxies;

  constructor(proxies: TrustedProxies) {
    this.#proxies = proxies;
  }

  /** Throws `rate_limited` where the address makes too many requests. Tokens that are no tokens count, too. */
  takeFromAddress({ socket, headers }: IncomingMessage, kind: 'request' | 'payment'): void {
    const client = this.#proxies.clientOf(socket.remoteAddress ?? 'unknown', headers['x-forwarded-for']?.toString());
    const limit = kind === 'payment' ? paymentsPerSecond.address : perSecond.address;
    this.#take(`${kind} address ${clientNetwork(client)}`, limit);
  }

  /** The same for the page of a session, from wherever. */
  takeFromSession(sessionId: string, kind: 'request' | 'payment'): void {
    this.#take(`${kind} ${sessionId}`, kind === 'payment' ? paymentsPerSecond.session : perSecond.session);
  }

  #take(name: string, limit: number): void {
    const { allowed, retryAfterSeconds } = this.#limiter.take(name, limit, performance.now());
    if (!allowed) throw new Failure('rate_limited', { retryAfterSeconds });
  }
}
