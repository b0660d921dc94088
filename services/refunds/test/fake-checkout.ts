import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import {
  CheckoutService,
  CheckoutSessionSchema,
  type RefundAllocation,
  RefundAllocationSchema,
  type ReserveRefundRequest,
} from '@eligo/proto/checkout/v1/checkout';
import { type Call, implement, type ServiceHandlers } from '@eligo/rpc';
import type { ProcessorAccount } from '@eligo/values';

/** A card that paid a session. */
export interface Card {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly chargeId: string;
  readonly processorIntentId: string;
  readonly processorChargeId: string;
  /** Absent at a checkout of the release before this one. */
  readonly processorAccount?: ProcessorAccount;
  readonly captured: bigint;
  /** The captures that a refund of it draws from. */
  readonly captures?: readonly { readonly captureId: string; readonly amountCents: bigint }[];
}

/** A session that was paid, as checkout keeps it. */
export interface PaidSession {
  readonly id: string;
  readonly cards: readonly Card[];
}

/**
 * What goes wrong with the next call: it is carried out and its answer lost, not carried out at all, carried out when `delivers` says so, carried
 * out after all that is late, or refused for the moment.
 */
export type Trouble = 'lost_after' | 'lost_before' | 'late' | 'overtaken' | 'busy' | undefined;

/** Checkout as refunds sees it: it keeps "refunded <= captured" and reserves once per refund id. */
export class FakeCheckout {
  readonly reservations = new Map<string, { sessionId: string; parts: Map<string, bigint> }>();
  /** The accounts and modes that it lists as having a payment, with where the newest one is. */
  readonly accountsWithPayments: {
    accountId: string;
    testMode: boolean;
    processor?: string;
    processorAccount?: string;
  }[] = [];
  /** What it was told of each dispute last. */
  readonly disputes = new Map<string, { held: bigint; seq: bigint; told: number }>();
  /** The charges at the processor whose disputes hold more than was received and not refunded. */
  readonly refundedBefore = new Set<string>();
  readonly #sessions = new Map<string, PaidSession>();
  /** What happens while a reservation is in flight. */
  beforeAnswering: (() => Promise<void>) | undefined;
  /** The ids under which nothing will ever be reserved. */
  readonly closed = new Set<string>();
  readonly #late: (() => unknown)[] = [];
  readonly #nonsense = new Set<string>();
  /** Of each refund, whether its reservation said that a partner asks. */
  readonly askedByPartner = new Map<string, boolean>();
  /** The instruction of each refund, as its reservation said it last. */
  readonly instructions = new Map<string, ReserveRefundRequest['instruction']>();
  #trouble: Trouble[] = [];

  /** Knows this session from now on. */
  paid(session: PaidSession): void {
    this.#sessions.set(session.id, session);
  }

  /** Knows this session no more. */
  forgets(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** Answers nonsense when a refund of this session is to be reserved: it is reserved on no card. */
  answersNonsense(sessionId: string): void {
    this.#nonsense.add(sessionId);
  }

  /** What goes wrong with the calls to come, in their order. */
  trouble(...trouble: Trouble[]): void {
    this.#trouble = trouble;
  }

  /** Carries out the calls that were late; their answers have nobody to go to. Answers how many were refused. */
  delivers(): number {
    const refused = this.#late.splice(0).filter((work) => {
      try {
        work();
        return false;
      } catch (error) {
        if (error instanceof Failure) return true;
        throw error;
      }
    });
    return refused.length;
  }

  /** What has been given back, or is about to be, of a card. */
  refundedOf(paymentIntentId: string): bigint {
    return [...this.reservations.values()].reduce((sum, { parts }) => sum + (parts.get(paymentIntentId) ?? 0n), 0n);
  }

  handlers(): ServiceHandlers {
    return implement(CheckoutService, {
      reserveRefund: async (request, call) => {
        await this.beforeAnswering?.();
        return this.#withTrouble(() => this.#reserve(request, call));
      },
      releaseRefund: ({ refundId, paymentIntentIds, keepReserved }) =>
        this.#withTrouble(() => {
          const reservation = this.reservations.get(refundId);
          if (reservation === undefined) this.closed.add(refundId);
          if (reservation === undefined || keepReserved) return {};
          for (const id of paymentIntentIds) reservation.parts.delete(id);
          return this.#session(reservation.sessionId);
        }),
      recordDispute: ({ disputeId, processorIntentId, heldCents, seq }) =>
        this.#withTrouble(() => {
          const charge = this.#charge((card) => card.processorIntentId === processorIntentId);
          const known = this.disputes.get(disputeId);
          const isNews = known === undefined || known.seq < seq;
          const told = (known?.told ?? 0) + 1;
          this.disputes.set(disputeId, isNews ? { held: heldCents, seq, told } : { ...known, told });
          return { charge, isBeyondReceived: heldCents > 0n && this.refundedBefore.has(charge.processorChargeId) };
        }),
      getChargeAtProcessor: ({ id }) => this.#charge((card) => card.chargeId === id),
      getSession: ({ id }) => this.#session(id),
      listAccountsWithPayments: ({ afterAccountId, afterTestMode, limit }) => ({
        accounts: this.accountsWithPayments
          .filter(({ accountId: id, testMode }) =>
            id === afterAccountId ? testMode && !afterTestMode : id > afterAccountId,
          )
          .sort((one, other) => (one.accountId < other.accountId ? -1 : 1))
          .slice(0, limit),
      }),
    });
  }

  #charge(isIt: (card: Card) => boolean) {
    for (const session of this.#sessions.values()) {
      const card = session.cards.find(isIt);
      if (card === undefined) continue;
      const { paymentIntentId, chargeId, processorIntentId, processorChargeId } = card;
      return { paymentIntentId, chargeId, processorIntentId, processorChargeId, checkoutSessionId: session.id };
    }
    throw new Failure('charge_not_found');
  }

  #withTrouble<T>(work: () => T): T {
    const trouble = this.#trouble.shift();
    if (trouble === 'busy') throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
    if (trouble === 'lost_before') throw new Failure('service_unavailable');
    if (trouble === 'late') {
      this.#late.push(work);
      throw new Failure('service_unavailable');
    }
    if (trouble === 'overtaken') this.delivers();
    const done = work();
    if (trouble === 'lost_after') throw new Failure('service_unavailable');
    return done;
  }

  #reserve({ refundId, subject, instruction, preview, askedByPartner }: ReserveRefundRequest, call: Call) {
    this.askedByPartner.set(refundId, askedByPartner);
    this.instructions.set(refundId, instruction);
    const isNew = !this.reservations.has(refundId);
    if (isNew && (instruction?.methods.length ?? 0) > 0 && !call.caller.features.includes('refund_payment_methods')) {
      throw new Failure('payment_method_allocation_not_enabled');
    }
    if (this.#nonsense.has(subject.value ?? '')) return {};
    const session = this.#find(subject);
    const only = subject.case === 'paymentIntentId' ? subject.value : '';
    if (this.closed.has(refundId)) throw new Failure('conflict');
    const parts = this.reservations.get(refundId)?.parts ?? this.#allocate(session, only, instruction);
    const allocations = session.cards.flatMap((card) => allocationOf(card, parts.get(card.paymentIntentId)));
    if (!preview) this.reservations.set(refundId, { sessionId: session.id, parts });
    return { allocations, session: this.#session(session.id), atMs: 1_700_000_000_123n };
  }

  #find(subject: ReserveRefundRequest['subject']): PaidSession {
    for (const session of this.#sessions.values()) {
      if (subject.case === 'sessionId' && session.id === subject.value) return session;
      if (subject.case !== 'paymentIntentId') continue;
      if (session.cards.some(({ paymentIntentId }) => paymentIntentId === subject.value)) return session;
    }
    throw new Failure(subject.case === 'sessionId' ? 'checkout_session_not_found' : 'payment_intent_not_found');
  }

  #allocate(
    { cards }: PaidSession,
    only: string,
    instruction: ReserveRefundRequest['instruction'],
  ): Map<string, bigint> {
    const parts = new Map<string, bigint>();
    const wanted = cards.filter(({ paymentIntentId }) => only === '' || only === paymentIntentId);
    const remaining = wanted.reduce((sum, card) => sum + card.captured - this.refundedOf(card.paymentIntentId), 0n);
    let left = instruction?.amountCents ?? remaining;
    if (instruction?.atMost === true && remaining > 0n && remaining < left) left = remaining;
    for (const card of wanted) {
      const rest = card.captured - this.refundedOf(card.paymentIntentId);
      const part = left - rest > 0n ? rest : left;
      if (part > 0n) parts.set(card.paymentIntentId, part);
      left -= part;
    }
    if (left > 0n || parts.size === 0) throw new Failure('refund_amount_exceeds_remaining');
    return parts;
  }

  #session(id: string) {
    const cards = this.#sessions.get(id)?.cards ?? [];
    return create(CheckoutSessionSchema, {
      checkoutSessionId: id,
      status: 'complete',
      amountReceivedCents: cards.reduce((sum, { captured }) => sum + captured, 0n),
      amountRefundedCents: cards.reduce((sum, { paymentIntentId }) => sum + this.refundedOf(paymentIntentId), 0n),
      refundIds: [...this.reservations].filter(([, { sessionId }]) => sessionId === id).map(([refundId]) => refundId),
      testMode: true,
    });
  }
}

function allocationOf(card: Card, amountCents: bigint | undefined): RefundAllocation[] {
  if (amountCents === undefined) return [];
  const { paymentIntentId, paymentMethodId, chargeId, processorIntentId } = card;
  const captures = [...(card.captures ?? [])];
  const { processor, account } = card.processorAccount ?? {};
  const at = processor === undefined || account === undefined ? {} : { processor, processorAccount: account };
  const ids = { paymentIntentId, paymentMethodId, chargeId, processorIntentId, ...at };
  return [create(RefundAllocationSchema, { ...ids, amountCents, captures, last4: '0072' })];
}
