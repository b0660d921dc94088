import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { type SetUpSubscriptionRequest, SubscriptionSetUpSchema } from '@eligo/proto/checkout/v1/checkout';

/** Checkout's set-ups of the cards of subscriptions as billing asks for them, in memory: one at most for each subscription. */
export class SetUpPeer {
  readonly #begun = new Map<string, { isOver?: boolean; saved?: string; named?: string }>();
  readonly #asksBank: (cardId: string) => boolean;
  /** The processor does not say what became of set-ups. */
  isUnknown = false;

  constructor(asksBank: (cardId: string) => boolean) {
    this.#asksBank = asksBank;
  }

  async ask({ subscriptionId, paymentMethodId: named, giveUp }: SetUpSubscriptionRequest) {
    if (this.isUnknown) throw new Failure('service_unavailable');
    if (!giveUp && !this.#begun.has(subscriptionId)) {
      const ofCard = named !== undefined && (this.#asksBank(named) ? { named } : { named, saved: named });
      this.#begun.set(subscriptionId, ofCard || {});
    }
    const known = this.#begun.get(subscriptionId);
    if (known?.saved !== undefined) {
      const of = known.named === undefined ? {} : { namedPaymentMethodId: known.named };
      return create(SubscriptionSetUpSchema, { outcome: 'saved', paymentMethodId: known.saved, ...of });
    }
    if (known !== undefined && giveUp) known.isOver = true;
    const isWaiting = known !== undefined && known.isOver !== true;
    return create(
      SubscriptionSetUpSchema,
      isWaiting ? { outcome: 'waits', clientSecret: 'seti_1_secret_8r' } : { outcome: 'over' },
    );
  }

  /** The customer of a subscription sets this card up; what checkout then tells billing. */
  save(subscriptionId: string, paymentMethodId: string) {
    const known = this.#begun.get(subscriptionId);
    if (known === undefined) throw new Error(`No set-up of ${subscriptionId}`);
    known.saved = paymentMethodId;
    return { subscriptionId, paymentMethodId, namedPaymentMethodId: known.named };
  }

  /** Whether the set-up of a subscription waits no longer, and saved nothing. */
  isOver(subscriptionId: string): boolean {
    return this.#begun.get(subscriptionId)?.isOver === true;
  }
}
