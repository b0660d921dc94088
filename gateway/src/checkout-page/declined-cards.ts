import type { PageView } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { RateLimiter } from '../http/rate-limiter.ts';

/** Sixty declined cards at once, and one more each minute: enough for all shoppers behind one address, too few for card testing (decisions 14.346). */
const perSecond = 1 / 60;
const burstMs = 3_600_000;

/**
 * Limits how many cards are declined for one client on the pages of one account, whichever sessions they are for: a payment link opens as many sessions as a
 * client wants. A payment counts as declined until its outcome is known, so that many at once are as many.
 */
export class DeclinedCards {
  readonly #limiter = new RateLimiter(burstMs);

  /** Carries out a payment with cards that were just typed. Throws `declined_cards_exceeded` if too many cards of the client were declined. */
  async pay(client: string, payment: () => Promise<PageView>): Promise<PageView> {
    const { allowed, retryAfterSeconds } = this.#limiter.take(client, perSecond, performance.now());
    if (!allowed) throw new Failure('declined_cards_exceeded', { retryAfterSeconds });
    return this.#count(client, payment);
  }

  /** Continues a payment after an authentication, and counts its decline. It is never refused: its card was accepted before. */
  async resume(client: string, payment: () => Promise<PageView>): Promise<PageView> {
    const { allowed } = this.#limiter.take(client, perSecond, performance.now());
    return allowed ? this.#count(client, payment) : payment();
  }

  async #count(client: string, payment: () => Promise<PageView>): Promise<PageView> {
    let isDeclined = false;
    try {
      const view = await payment();
      isDeclined = view.state === 'open' && !view.payment_in_flight && view.next_action?.type === 'payment_failed';
      return view;
    } catch (error) {
      isDeclined = error instanceof Failure && error.code === 'card_declined';
      throw error;
    } finally {
      if (!isDeclined) this.#limiter.giveBack(client, perSecond);
    }
  }
}
