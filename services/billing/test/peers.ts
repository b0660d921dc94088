import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { EvaluateEligibilityResponseSchema } from '@eligo/proto/catalog/v1/catalog';
import {
  type ChargeInvoiceRequest,
  type ChargeInvoiceResponse,
  ChargeInvoiceResponseSchema,
  CustomerSchema,
  PaymentMethodSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { newId } from '@eligo/values';
import type { Context } from '../src/context.ts';

/** What a card does when it is charged. */
export type CardBehavior = 'pays' | 'insufficient_funds' | 'stolen_card';

/** How a call for a charge goes wrong: before checkout has begun it, after it was charged, or charged while the caller waits no longer. */
export type ChargeFault = 'lost_before' | 'lost_after' | 'unknown' | 'down';

/** A charge that took money. */
export interface TakenCharge {
  readonly operationId: string;
  readonly invoiceId: string;
  readonly leg: string;
  readonly paymentMethodId: string;
  readonly amountCents: number;
  readonly at: Date;
  readonly healthcareCents: number;
}

/**
 * Checkout and the catalog as billing calls them, in memory, with the rules of their protocol: an operation id stands for one charge, asking again gives the
 * stored answer, and an invoice's leg is charged once. It keeps its own record of the money that was taken.
 */
export class Peers {
  readonly taken: TakenCharge[] = [];
  /** How often checkout was asked for a charge. */
  asked = 0;
  readonly #cards = new Map<string, { healthCard: boolean; behavior: CardBehavior }>();
  readonly #classes = new Map<string, string>();
  readonly #answers = new Map<string, { request: ChargeInvoiceRequest; response: ChargeInvoiceResponse }>();
  readonly #deletedCustomers = new Set<string>();
  readonly #faults: { readonly fault: ChargeFault; readonly cardId?: string }[] = [];
  isCatalogDown = false;
  ruleVersion = '1';

  card(healthCard: boolean, behavior: CardBehavior = 'pays'): string {
    const id = newId('payment_method');
    this.#cards.set(id, { healthCard, behavior });
    return id;
  }

  behave(cardId: string, behavior: CardBehavior): void {
    const card = this.#cards.get(cardId);
    if (card === undefined) throw new Error(`No card ${cardId}`);
    this.#cards.set(cardId, { ...card, behavior });
  }

  detach(cardId: string): void {
    this.#cards.delete(cardId);
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
    evaluateEligibility: async ({ items = [] }) => {
      if (this.isCatalogDown) throw new Failure('service_unavailable');
      return create(EvaluateEligibilityResponseSchema, {
        items: items.map(({ item }) => ({
          decision: {
            hsaFsaEligibility: this.#classes.get(String(item?.value)) ?? 'not_eligible',
            rule: 'product',
            ruleVersion: this.ruleVersion,
            rationale: 'Set on the product by the partner.',
          },
        })),
      });
    },
  } as Context['catalog'];

  readonly checkout: Context['checkout'] = {
    setTestClock: async () => ({}),
    getCustomer: async ({ id }: { id: string }) => {
      if (this.#deletedCustomers.has(id)) throw new Failure('customer_not_found');
      return create(CustomerSchema, { customerId: id });
    },
    getPaymentMethod: async ({ id }: { id: string }) => {
      const card = this.#cards.get(id);
      if (card === undefined) throw new Failure('payment_method_not_found');
      return create(PaymentMethodSchema, { paymentMethodId: id, card: { hsaFsa: card.healthCard } });
    },
    chargeInvoice: async (request: ChargeInvoiceRequest) => this.#charge(request),
  } as unknown as Context['checkout'];

  async #charge(request: ChargeInvoiceRequest): Promise<ChargeInvoiceResponse> {
    this.asked += 1;
    const fault = this.#faultOf(request.paymentMethodId);
    // A call takes time, in which others run.
    await new Promise((resolve) => setImmediate(resolve));
    if (fault === 'lost_before' || fault === 'down') throw new Failure('service_unavailable');
    if (fault === 'unknown') return create(ChargeInvoiceResponseSchema, { outcome: 'unknown' });
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
    // An invoice's leg that is paid takes no other operation.
    if (this.taken.some(({ invoiceId, leg }) => invoiceId === request.invoiceId && leg === request.leg)) {
      return create(ChargeInvoiceResponseSchema, { outcome: 'unknown' });
    }
    if (request.amountCents > 99_999_999n) {
      throw Failure.invalid(['amount_cents'], 'amount_too_large', 'Must be at most 99999999');
    }
    const card = this.#cards.get(request.paymentMethodId);
    if (card === undefined) throw new Failure('payment_method_not_found');
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
      healthcareCents: Number(iiasCents + prescriptionCents + visionCents + serviceCents),
    });
    const intent = { paymentIntentId: newId('payment_intent'), latestChargeId: newId('charge') };
    return create(ChargeInvoiceResponseSchema, { outcome: 'succeeded', paymentIntent: intent });
  }
}

function declined(code: string): ChargeInvoiceResponse {
  const refusal = { failureCode: 'card_declined', declineCode: code };
  return create(ChargeInvoiceResponseSchema, { outcome: 'declined', ...refusal });
}
