import { Failure } from '@eligo/failures';
import type {
  CheckoutService,
  HealthcareAmounts,
  Idempotency,
  RefundInstruction as InstructionMessage,
} from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import type { Keyring } from '@eligo/service';
import { centsFromInt64, present } from '@eligo/values';
import { chargeInvoice } from '../actions/charge-invoice.ts';
import { completeWithCards } from '../actions/complete-with-cards.ts';
import { confirmSession } from '../actions/confirm-session.ts';
import { readPage } from '../actions/read-page.ts';
import { releaseRefund } from '../actions/release-refund.ts';
import { reserveRefund } from '../actions/reserve-refund.ts';
import { submitLetterAnswers } from '../actions/submit-letter-answers.ts';
import type { Charging } from '../charging.ts';
import { type CardSlot, isCardSlot } from '../domain/card-kind.ts';
import type { HealthcareCents } from '../domain/charge-attempt.ts';
import { acceptsHealthCards } from '../domain/confirm-rules.ts';
import { awaitsLetters } from '../domain/letter.ts';
import type { RefundEntry, RefundInstruction } from '../domain/refund-allocation.ts';
import { addressOf } from '../messages/address.ts';
import { intentMessage } from '../messages/intents.ts';
import { pageMessage } from '../messages/page.ts';
import { sessionMessage } from '../messages/session.ts';

/** The calls that move money. */
export function chargingHandlers(
  charging: Charging,
  keyring: Pick<Keyring, 'seal'>,
): Implementation<typeof CheckoutService> {
  return {
    confirmSession(request, { scope, caller }) {
      const { key, requestHash } = required(request.idempotency);
      return confirmSession(charging, scope, {
        sessionId: request.id,
        paymentMethodId: request.paymentMethodId ?? null,
        captureMethod: request.captureMethod ?? null,
        expand: request.expand,
        features: caller.features,
        refusesHealthCards: !acceptsHealthCards(caller),
        key,
        requestHash: Buffer.from(requestHash),
      });
    },

    async getPage({ id }, { scope }) {
      return pageMessage(scope, await readPage(charging, scope, id));
    },

    async completeSession(request, { scope, caller }) {
      const { id, paymentMethod, secondPaymentMethod, shippingDetails, letter, onPage, ...slots } = request;
      const session = await completeWithCards(charging, scope, {
        ...{ sessionId: id, paymentMethod, secondPaymentMethod, onPage },
        slot: slotOf(slots.paymentMethodSlot),
        secondSlot: slotOf(slots.secondPaymentMethodSlot),
        refusesHealthCards: !acceptsHealthCards(caller),
        shippingDetails: addressOf(shippingDetails),
      });
      if (letter !== undefined && awaitsLetters(session)) {
        await submitLetterAnswers(charging, keyring, scope, id, JSON.stringify({ letter }));
      }
      return sessionMessage(scope, session);
    },

    async chargeInvoice(request, { scope }) {
      const result = await chargeInvoice(charging, scope, {
        operationId: request.operationId,
        invoiceId: request.invoiceId,
        subscriptionId: request.subscriptionId === '' ? null : request.subscriptionId,
        customerId: request.customerId,
        paymentMethodId: request.paymentMethodId,
        amountCents: centsFromInt64(request.amountCents),
        leg: request.leg === 'health' ? 'health' : 'other',
        at: new Date(Number(request.atMs)),
        ...(request.healthcare === undefined ? {} : { healthcare: healthcareOf(request.healthcare) }),
      });
      return {
        outcome: result.outcome,
        ...(result.intent === undefined ? {} : { paymentIntent: intentMessage(scope, result.intent) }),
        ...present({ failureCode: result.failureCode, declineCode: result.declineCode }),
      };
    },

    async reserveRefund(request, { scope, caller }) {
      const { subject } = request;
      const reserved = await reserveRefund(charging, scope, {
        refundId: request.refundId,
        sessionId: subject.case === 'sessionId' ? subject.value : null,
        paymentIntentId: subject.case === 'paymentIntentId' ? subject.value : null,
        instruction: instructionOf(request.instruction),
        features: caller.features,
        preview: request.preview,
      });
      const [first] = reserved.cards;
      return {
        allocations: reserved.cards.map(({ intent, amountCents, last4 }) => ({
          paymentIntentId: intent.id,
          paymentMethodId: intent.paymentMethodId ?? '',
          chargeId: intent.latestChargeId ?? '',
          processorIntentId: intent.processorIntentId ?? '',
          last4,
          amountCents: BigInt(amountCents),
        })),
        ...(reserved.session === undefined ? {} : { session: sessionMessage(scope, reserved.session) }),
        ...present({
          customerId: first?.intent.customerId,
          invoiceId: first?.intent.invoiceId,
          subscriptionId: first?.intent.subscriptionId,
        }),
        atMs: BigInt(reserved.at.getTime()),
      };
    },

    async releaseRefund(request, { scope }) {
      const { refundId, paymentIntentIds, keepReserved } = request;
      const session = await releaseRefund(charging, scope, refundId, paymentIntentIds, keepReserved);
      return session === undefined ? {} : sessionMessage(scope, session);
    },
  };
}

// The gateway has checked it; anything else says nothing.
function slotOf(text: string | undefined): CardSlot | undefined {
  return text !== undefined && isCardSlot(text) ? text : undefined;
}

function healthcareOf(amounts: HealthcareAmounts): HealthcareCents {
  return {
    iiasCents: centsFromInt64(amounts.iiasCents),
    prescriptionCents: centsFromInt64(amounts.prescriptionCents),
    visionCents: centsFromInt64(amounts.visionCents),
    serviceCents: centsFromInt64(amounts.serviceCents),
  };
}

function required(idempotency: Idempotency | undefined): Idempotency {
  if (idempotency === undefined) throw new Failure('idempotency_key_required');
  return idempotency;
}

function instructionOf(message: InstructionMessage | undefined): RefundInstruction {
  const optional = (value: bigint | undefined) => (value === undefined ? undefined : centsFromInt64(value));
  return {
    amount: optional(message?.amountCents),
    atMost: message?.atMost ?? false,
    entries: (message?.lines ?? []).map((line): RefundEntry => {
      const amount = centsFromInt64(line.amountCents);
      if (line.item.case === undefined) throw new Failure('refund_amount_invalid');
      return line.item.case === 'priceId'
        ? { priceId: line.item.value, amount }
        : { productId: line.item.value, amount };
    }),
    tax: optional(message?.taxCents),
    shipping: optional(message?.shippingCents),
    discount: optional(message?.discountCents),
    methods: (message?.methods ?? []).map((method) => ({
      paymentMethodId: method.paymentMethodId,
      amount: centsFromInt64(method.amountCents),
    })),
  };
}
