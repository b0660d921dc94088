import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Failure, type FailureCode } from '@eligo/failures';
import {
  AcknowledgementSchema,
  type BatchEvaluateEligibilityRequestSchema,
  BatchEvaluateEligibilityResponseSchema,
  type CouponSchema,
  type EvaluateEligibilityRequestSchema,
  EvaluateEligibilityResponseSchema,
  type ReserveRedemptionRequestSchema,
  type ResolveCartRequestSchema,
  ResolvedCartSchema,
} from '@eligo/proto/catalog/v1/catalog';
import {
  type AdoptInvoiceCardRequest,
  type ChargeInvoiceRequest,
  type ChargeInvoiceResponse,
  ChargeInvoiceResponseSchema,
  CustomerSchema,
  type FindValidLettersRequest,
  InvoicePaymentSchema,
  PaymentMethodSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { newId, present } from '@eligo/values';
import type { Context } from '../src/context.ts';
import { PaymentsPeer } from './payments-peer.ts';
import { declined, nameIn, paidBefore, type TakenCharge } from './peer-answers.ts';
import { SetUpPeer } from './set-up-peer.ts';

/** What a card does when it is charged. */
export type CardBehavior =
  | 'pays'
  | 'insufficient_funds'
  | 'stolen_card'
  | 'expired_card'
  | 'asks_bank'
  | 'authentication_required'
  | 'health_cards_not_enabled';

/** How a call for a charge goes wrong: before checkout has begun it, after it was charged, or charged while the caller waits no longer. */
export type ChargeFault = 'lost_before' | 'lost_after' | 'unknown' | 'down' | 'not_now';

type Cart = MessageInitShape<typeof ResolveCartRequestSchema>;
type EligibilityRequest = MessageInitShape<typeof EvaluateEligibilityRequestSchema>;

export interface Recurring {
  readonly interval?: string;
  readonly intervalCount?: number;
  readonly trialPeriodDays?: number;
}

/**
 * Checkout and the catalog as billing calls them, in memory, with the rules of their protocol: an operation id stands for one charge, asking again gives the
 * stored answer, and an invoice's leg is charged once. It keeps its own record of the money that was taken.
 */
export class Peers {
  readonly taken: TakenCharge[] = [];
  /** The times of test clocks that checkout was told. */
  readonly clockTimes: Date[] = [];
  refusesClocks = false;
  /** How often checkout was asked for a charge. */
  asked = 0;
  readonly #cards = new Map<string, { healthCard: boolean | null; behavior: CardBehavior }>();
  readonly #classes = new Map<string, string>();
  readonly #answers = new Map<string, { request: ChargeInvoiceRequest; response: ChargeInvoiceResponse }>();
  readonly #deletedCustomers = new Set<string>();
  readonly #owners = new Map<string, string>();
  readonly #notChargeable = new Map<string, FailureCode>();
  readonly #clocks = new Map<string, string>();
  readonly #typed = new Map<string, { readonly behavior: CardBehavior; readonly id?: string }>();
  /** The cards whose bank waits for its customer, by invoice. */
  readonly #asked = new Map<string, string>();
  readonly setUps = new SetUpPeer((cardId) => this.#cards.get(cardId)?.behavior === 'asks_bank');
  readonly #prices = new Map<string, { readonly unitAmountCents: number; readonly recurring: Recurring | undefined }>();
  readonly #coupons = new Map<string, MessageInitShape<typeof CouponSchema>>();
  readonly #onSession = new Set<string>();
  readonly #letters: { customerId: string; productId: string; letterId: string; until: number }[] = [];
  /** What became of each redemption. */
  readonly redemptions = new Map<string, 'reserved' | 'final' | 'released'>();
  readonly emails = new Map<string, string>();
  readonly payments = new PaymentsPeer();
  readonly refunded = this.payments.refunded;
  readonly disputed = this.payments.disputed;
  readonly usedUp = new Set<string>();
  readonly #faults: { readonly fault: ChargeFault; readonly cardId?: string }[] = [];
  isCatalogDown = false;
  ruleVersion = '1';

  card(healthCard: boolean | null, behavior: CardBehavior = 'pays'): string {
    const id = newId('payment_method');
    this.#cards.set(id, { healthCard, behavior });
    return id;
  }

  /** What the processor's fields answer for a card that a customer types. */
  typed(behavior: CardBehavior): string {
    const processorPaymentMethodId = `pm_${this.#typed.size}`;
    this.#typed.set(processorPaymentMethodId, { behavior });
    return processorPaymentMethodId;
  }

  /** The payment method of a typed card. */
  adoptedAs(processorPaymentMethodId: string): string {
    return this.#typed.get(processorPaymentMethodId)?.id ?? '';
  }

  /** A letter of a customer for a product, valid until this time. */
  letter(customerId: string, productId: string, until: string): string {
    const letterId = newId('letter');
    this.#letters.push({ customerId, productId, letterId, until: Date.parse(until) });
    return letterId;
  }

  /** A customer, who may live on a clock. */
  customer(testClockId?: string): string {
    const id = newId('customer');
    if (testClockId !== undefined) this.#clocks.set(id, testClockId);
    return id;
  }

  /** A card of a customer; it can be charged without its owner unless said otherwise. */
  cardOf(customerId: string, healthCard: boolean, behavior: CardBehavior = 'pays', offSession = true): string {
    const id = this.card(healthCard, behavior);
    this.#owners.set(id, customerId);
    if (!offSession) this.#onSession.add(id);
    return id;
  }

  owns(cardId: string, customerId: string): void {
    this.#owners.set(cardId, customerId);
  }

  /** A price that the catalog sells: 30.00 a month and eligible, unless said otherwise; `null` recurs never. */
  price(of: { unitAmountCents?: number; recurring?: Recurring | null; eligibility?: string } = {}): string {
    const id = newId('price');
    const { unitAmountCents = 3_000, recurring = {}, eligibility = 'auto_substantiation' } = of;
    this.#prices.set(id, { unitAmountCents, recurring: recurring ?? undefined });
    this.classify(id, eligibility);
    return id;
  }

  coupon(of: MessageInitShape<typeof CouponSchema>): string {
    const couponId = newId('coupon');
    this.#coupons.set(couponId, { ...of, couponId });
    return couponId;
  }

  behave(cardId: string, behavior: CardBehavior, changed: { readonly healthCard?: boolean } = {}): void {
    const card = this.#cards.get(cardId);
    if (card === undefined) throw new Error(`No card ${cardId}`);
    this.#cards.set(cardId, { ...card, ...changed, behavior });
  }

  /** Checkout answers a detached card, without its owner, and charges it no more. */
  detach(cardId: string): void {
    this.#owners.delete(cardId);
    this.#notChargeable.set(cardId, 'payment_method_not_found');
  }

  /** The operator gives the account another processor account than that of the card. */
  leaveBehind(cardId: string): void {
    this.#notChargeable.set(cardId, 'payment_method_from_another_processor');
  }

  deleteCustomer(id: string): void {
    this.#deletedCustomers.add(id);
  }

  classify(priceId: string, eligibility: string): void {
    this.#classes.set(priceId, eligibility);
  }

  /** The next calls for a charge go wrong in this way, of whichever card. */
  fail(...faults: ChargeFault[]): void {
    this.#faults.push(...faults.map((fault) => ({ fault })));
  }

  /** The next call for a charge of this card goes wrong in this way. */
  failOn(cardId: string, fault: ChargeFault): void {
    this.#faults.push({ fault, cardId });
  }

  takenOf(invoiceId: string): number {
    return this.taken.filter((one) => one.invoiceId === invoiceId).reduce((sum, one) => sum + one.amountCents, 0);
  }

  readonly catalog: Context['catalog'] = {
    evaluateEligibility: async (request: EligibilityRequest) => this.#evaluate(request),
    batchEvaluateEligibility: async ({
      requests = [],
    }: MessageInitShape<typeof BatchEvaluateEligibilityRequestSchema>) =>
      create(BatchEvaluateEligibilityResponseSchema, {
        responses: requests.map((request) => this.#evaluate(request)),
      }),
    resolveCart: async ({ lines = [], discounts = [], heldPriceIds = [] }: Cart) =>
      create(ResolvedCartSchema, {
        lines: lines.map(({ item }, index) => {
          const priceId = String(item?.value);
          const price = this.#prices.get(priceId) ?? this.#soldBefore(priceId, heldPriceIds);
          const loc = ['body', 'subscription', 'items', String(index), 'price'];
          if (price === undefined) throw Failure.invalid(loc, 'price_not_found', `price_not_found: ${priceId}`);
          const { interval = 'month', intervalCount = 1, trialPeriodDays } = price.recurring ?? {};
          const days = trialPeriodDays === undefined ? {} : { trialPeriodDays };
          return {
            price: {
              priceId,
              unitAmountCents: BigInt(price.unitAmountCents),
              ...(price.recurring === undefined ? {} : { recurring: { interval, intervalCount, ...days } }),
            },
            product: { productId: newId('product') },
            eligibility: this.#decisionOf(priceId),
          };
        }),
        discounts: discounts.map(({ source }) => {
          const coupon = this.#coupons.get(nameIn(source));
          const loc = ['body', 'subscription', 'discounts', '0', 'coupon_id'];
          if (coupon === undefined) throw Failure.invalid(loc, 'coupon_not_found', 'coupon_not_found');
          return { coupon };
        }),
      }),
    reserveRedemption: async (request: MessageInitShape<typeof ReserveRedemptionRequestSchema>) => {
      const { sessionId = '', couponIds = [] } = request;
      const used = couponIds.find((id) => this.usedUp.has(id));
      if (used !== undefined) {
        const loc = ['body', 'subscription', 'discounts'];
        throw Failure.invalid(loc, 'coupon_not_applicable', `coupon_not_applicable: ${used}`);
      }
      if (this.redemptions.get(sessionId) === 'released') throw new Failure('conflict');
      this.redemptions.set(sessionId, 'reserved');
      return create(AcknowledgementSchema);
    },
    finalizeRedemption: async ({ sessionId = '' }: { sessionId?: string }) => this.#endRedemption(sessionId, 'final'),
    releaseRedemption: async ({ sessionId = '' }: { sessionId?: string }) => this.#endRedemption(sessionId, 'released'),
  } as unknown as Context['catalog'];

  // A price that the tests sold by a session is in no catalog: only a subscription that has it is given it.
  #soldBefore(id: string, heldIds: readonly string[]) {
    return this.#classes.has(id) && heldIds.includes(id) ? { unitAmountCents: 1_500, recurring: {} } : undefined;
  }

  #endRedemption(id: string, to: 'final' | 'released') {
    const state = this.redemptions.get(id);
    if (to === 'released' ? state !== 'final' : state === 'reserved') this.redemptions.set(id, to);
    return create(AcknowledgementSchema);
  }

  #evaluate({ items = [] }: EligibilityRequest) {
    if (this.isCatalogDown) throw new Failure('service_unavailable');
    return create(EvaluateEligibilityResponseSchema, {
      items: items.map(({ item }) => ({ decision: this.#decisionOf(nameIn(item)) })),
    });
  }

  #decisionOf(priceId: string) {
    return {
      hsaFsaEligibility: this.#classes.get(priceId) ?? 'not_eligible',
      rule: 'product',
      ruleVersion: this.ruleVersion,
      rationale: 'Set on the product by the partner.',
    };
  }

  readonly checkout: Context['checkout'] = {
    setTestClock: async ({ frozenTimeMs }: { frozenTimeMs: bigint }) => {
      if (this.refusesClocks) throw new Error('checkout does not answer');
      this.clockTimes.push(new Date(Number(frozenTimeMs)));
      return {};
    },
    getCustomer: async ({ id }: { id: string }) => {
      if (this.#deletedCustomers.has(id)) throw new Failure('customer_not_found');
      const testClockId = this.#clocks.get(id);
      const email = this.emails.get(id);
      return create(CustomerSchema, {
        customerId: id,
        ...(testClockId === undefined ? {} : { testClockId }),
        ...(email === undefined ? {} : { email }),
      });
    },
    getPaymentMethod: async ({ id }: { id: string }) => this.#paymentMethod(id),
    batchGetCustomers: async ({ ids }: { ids: string[] }) => ({
      customers: ids.flatMap((id) =>
        this.#deletedCustomers.has(id) ? [] : [create(CustomerSchema, { customerId: id })],
      ),
    }),
    batchGetPaymentMethods: async ({ ids }: { ids: string[] }) => ({
      paymentMethods: ids.filter((id) => this.#cards.has(id)).map((id) => this.#paymentMethod(id)),
    }),
    getPaymentIntent: async ({ id }: { id: string }) => this.payments.intent(id),
    getSession: async ({ id }: { id: string }) => this.payments.session(id),
    listLineItems: async ({ sessionId }: { sessionId: string }) => this.payments.lineItems(sessionId),
    findValidLetters: async ({ customerId, productIds, atMs }: FindValidLettersRequest) => ({
      letters: this.#letters.filter(
        (letter) =>
          letter.customerId === customerId && productIds.includes(letter.productId) && letter.until > Number(atMs),
      ),
    }),
    chargeInvoice: async (request: ChargeInvoiceRequest) => this.#charge(request),
    adoptInvoiceCard: async (request: AdoptInvoiceCardRequest) => {
      const { processorPaymentMethodId, customerId, slot } = request;
      const { behavior = 'pays', id = this.cardOf(customerId, slot === 'health', behavior) } =
        this.#typed.get(processorPaymentMethodId) ?? {};
      this.#typed.set(processorPaymentMethodId, { behavior, id });
      return create(PaymentMethodSchema, { paymentMethodId: id, customerId });
    },
    getInvoicePayment: async ({ id }: { id: string }, { caller }: { caller?: { substantiation?: string } }) =>
      create(InvoicePaymentSchema, {
        ...{ processor: 'sandbox', refusesHealthCards: caller?.substantiation === '' },
        ...(this.#asked.has(id) ? { inFlight: true, clientSecret: 'pi_1_secret_7q' } : {}),
      }),
    setUpSubscription: (request: Parameters<SetUpPeer['ask']>[0]) => this.setUps.ask(request),
    resumeInvoiceAuthentication: async ({ id, giveUp }: { id: string; giveUp: boolean }) => {
      const card = this.#asked.get(id);
      // Unless the customer was faster.
      if (giveUp && card && this.#cards.get(card)?.behavior === 'asks_bank')
        this.behave(card, 'authentication_required');
      return {};
    },
  } as unknown as Context['checkout'];

  #paymentMethod(id: string) {
    const card = this.#cards.get(id);
    if (card === undefined) throw new Failure('payment_method_not_found');
    const customerId = this.#owners.get(id);
    return create(PaymentMethodSchema, {
      paymentMethodId: id,
      card: present({ hsaFsa: card.healthCard, last4: card.healthCard ? '4242' : '1881' }),
      offSession: !this.#onSession.has(id),
      ...present({ customerId, notChargeable: this.#notChargeable.get(id) }),
    });
  }

  async #charge(request: ChargeInvoiceRequest): Promise<ChargeInvoiceResponse> {
    this.asked += 1;
    const fault = this.#faultOf(request.paymentMethodId);
    // A call takes time, in which others run.
    await new Promise((resolve) => setImmediate(resolve));
    if (fault === 'lost_before' || fault === 'down') throw new Failure('service_unavailable');
    if (fault === 'unknown') return create(ChargeInvoiceResponseSchema, { outcome: 'unknown' });
    if (fault === 'not_now') return create(ChargeInvoiceResponseSchema, { outcome: 'unknown', retryAfterMs: 7_000n });
    const response = this.#answerTo(request);
    if (fault === 'lost_after') throw new Failure('deadline_exceeded');
    return response;
  }

  #faultOf(cardId: string): ChargeFault | undefined {
    const index = this.#faults.findIndex((one) => one.cardId === undefined || one.cardId === cardId);
    return index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.fault;
  }

  #answerTo(request: ChargeInvoiceRequest): ChargeInvoiceResponse {
    const known = this.#answers.get(request.operationId);
    if (known !== undefined) {
      const { invoiceId, leg, amountCents } = known.request;
      const isSame = invoiceId === request.invoiceId && leg === request.leg && amountCents === request.amountCents;
      if (!isSame) throw new Failure('idempotency_key_reused');
      return known.response;
    }
    const paid = paidBefore(this.#answers.values(), request);
    if (paid !== undefined) return paid;
    if (request.amountCents > 99_999_999n) {
      throw Failure.invalid(['amount_cents'], 'amount_too_large', 'Must be at most 99999999');
    }
    const card = this.#cards.get(request.paymentMethodId);
    const notChargeable = this.#notChargeable.get(request.paymentMethodId);
    if (notChargeable !== undefined) throw new Failure(notChargeable);
    const isGone = this.#deletedCustomers.has(request.customerId);
    if (card === undefined || isGone || (request.leg === 'other' && card.healthCard !== false))
      throw new Failure('payment_method_not_found');
    if (card.behavior === 'health_cards_not_enabled') throw new Failure('health_cards_not_enabled');
    if (card.behavior === 'asks_bank') {
      this.#asked.set(request.invoiceId, request.paymentMethodId);
      return create(ChargeInvoiceResponseSchema, { outcome: 'unknown', awaitsCustomer: request.withCustomer });
    }
    this.#asked.delete(request.invoiceId);
    const response = card.behavior === 'pays' ? this.#take(request) : declined(card.behavior);
    this.#answers.set(request.operationId, { request, response });
    return response;
  }

  #take(request: ChargeInvoiceRequest): ChargeInvoiceResponse {
    const { iiasCents = 0n, prescriptionCents = 0n, visionCents = 0n, serviceCents = 0n } = request.healthcare ?? {};
    this.taken.push({
      operationId: request.operationId,
      invoiceId: request.invoiceId,
      leg: request.leg,
      paymentMethodId: request.paymentMethodId,
      amountCents: Number(request.amountCents),
      at: new Date(Number(request.atMs)),
      ...{ onPage: request.onPage, withCustomer: request.withCustomer },
      healthcareCents: Number(iiasCents + prescriptionCents + visionCents + serviceCents),
    });
    const { paymentMethodId } = request;
    const intent = { paymentIntentId: newId('payment_intent'), latestChargeId: newId('charge'), paymentMethodId };
    return create(ChargeInvoiceResponseSchema, { outcome: 'succeeded', paymentIntent: intent });
  }
}
