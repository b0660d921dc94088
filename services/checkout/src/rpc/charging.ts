import { Failure } from '@eligo/failures';
import type {
  CheckoutService,
  HealthcareAmounts,
  Idempotency,
  RefundInstruction as InstructionMessage,
} from '@eligo/proto/checkout/v1/checkout';
import type { Call, Implementation } from '@eligo/rpc';
import { centsFromInt64, present } from '@eligo/values';
import { acceptProcessorEvent } from '../actions/accept-processor-event.ts';
import { changePromoCode } from '../actions/change-promo-code.ts';
import { chargeInvoice } from '../actions/charge-invoice.ts';
import { completeOnPage, completeWithCards } from '../actions/complete-with-cards.ts';
import { confirmSession } from '../actions/confirm-session.ts';
import { completedPage } from '../actions/read-page.ts';
import { recordDispute } from '../actions/record-dispute.ts';
import { cardUpdated, refreshCard } from '../actions/refresh-card.ts';
import { releaseRefund } from '../actions/release-refund.ts';
import { reserveRefund } from '../actions/reserve-refund.ts';
import { resumeAuthentication } from '../actions/resume-authentication.ts';
import { keepShopperEmail } from '../actions/shopper-email.ts';
import { visitPage } from '../actions/visit-page.ts';
import type { Context } from '../context.ts';
import { type CardSlot, isCardSlot } from '../domain/card-kind.ts';
import type { HealthcareCents } from '../domain/charge-attempt.ts';
import { acceptsHealthCards, hidesHealthCards } from '../domain/confirm-rules.ts';
import type { RefundInstruction } from '../domain/refund-allocation.ts';
import { addressOf } from '../messages/address.ts';
import { instructionOf } from '../messages/instruction.ts';
import { intentMessage } from '../messages/intents.ts';
import { pageMessage } from '../messages/page.ts';
import { sessionMessage } from '../messages/session.ts';
import { accountsWithPayments } from '../store/accounts-with-payments.ts';
import { type ChargeAtProcessor, findChargeAtProcessor } from '../store/disputes.ts';
import { invoicePageHandlers } from './invoice-page.ts';

/** The calls that move money. */
export function chargingHandlers(context: Context): Implementation<typeof CheckoutService> {
  return {
    confirmSession(request, { scope, caller }) {
      const { key, requestHash } = required(request.idempotency);
      return confirmSession(context, scope, {
        sessionId: request.id,
        paymentMethodId: request.paymentMethodId ?? null,
        captureMethod: request.captureMethod ?? null,
        expand: request.expand,
        features: caller.features,
        ...chargeableBy(caller),
        key,
        requestHash: Buffer.from(requestHash),
      });
    },

    async getPage({ id, forDocument }, { scope, caller }) {
      const reader = { forDocument, refusesHealthCards: hidesHealthCards(caller) };
      return pageMessage(scope, await visitPage(context, scope, id, reader));
    },

    async completeSession(request, { scope, caller }) {
      const { id, paymentMethod, secondPaymentMethod, shippingDetails, letter, onPage, ...slots } = request;
      const session = await completeWithCards(context, scope, {
        ...{ sessionId: id, paymentMethod, secondPaymentMethod, onPage },
        slot: slotOf(slots.paymentMethodSlot),
        secondSlot: slotOf(slots.secondPaymentMethodSlot),
        ...chargeableBy(caller),
        shippingDetails: addressOf(shippingDetails),
        shownSplit: slots.shownSplit,
        letterAnswers: letter === undefined ? null : JSON.stringify({ letter }),
      });
      return sessionMessage(scope, session);
    },

    async payOnPage(
      { id, cards, email, shippingDetails, shownSplit, shippingCountries, termsAccepted },
      { scope, caller },
    ) {
      // Before the session is read, which the payment writes as it was read.
      if (email !== undefined) await keepShopperEmail(context, scope, id, email);
      const [first, second] = cards;
      const given = {
        ...{ sessionId: id, paymentMethod: first?.paymentMethod, secondPaymentMethod: second?.paymentMethod },
        ...{ slot: slotOf(first?.slot), secondSlot: slotOf(second?.slot), onPage: true, shownSplit },
        ...chargeableBy(caller),
        shippingDetails: addressOf(shippingDetails),
      };
      const { session, lines } = await completeOnPage(context, scope, given, { shippingCountries, termsAccepted });
      if (lines === undefined) return { result: { case: 'session', value: sessionMessage(scope, session) } };
      const page = completedPage(context, scope, session, lines, given.refusesHealthCards);
      return { result: { case: 'page', value: pageMessage(scope, page) } };
    },

    async changePromoCode({ id, code }, call) {
      return sessionMessage(call.scope, await changePromoCode(context, call, id, code));
    },

    async resumeAuthentication({ id, giveUp }, { scope }) {
      return sessionMessage(scope, await resumeAuthentication(context, scope, id, giveUp));
    },

    async chargeInvoice(request, { scope }) {
      const result = await chargeInvoice(context, scope, {
        operationId: request.operationId,
        invoiceId: request.invoiceId,
        subscriptionId: request.subscriptionId === '' ? null : request.subscriptionId,
        customerId: request.customerId,
        paymentMethodId: request.paymentMethodId,
        amountCents: centsFromInt64(request.amountCents),
        leg: request.leg === 'health' ? 'health' : 'other',
        at: new Date(Number(request.atMs)),
        ...{ onPage: request.onPage, withCustomer: request.withCustomer },
        ...(request.healthcare === undefined ? {} : { healthcare: healthcareOf(request.healthcare) }),
      });
      return {
        outcome: result.outcome,
        awaitsCustomer: result.awaitsCustomer ?? false,
        ...(result.intent === undefined ? {} : { paymentIntent: intentMessage(scope, result.intent) }),
        ...present({ failureCode: result.failureCode, declineCode: result.declineCode }),
        ...(result.retryAfterMs === undefined ? {} : { retryAfterMs: BigInt(result.retryAfterMs) }),
      };
    },

    ...invoicePageHandlers(context),

    async reserveRefund(request, { scope, caller }) {
      const { subject } = request;
      const reserved = await reserveRefund(context, scope, {
        refundId: request.refundId,
        sessionId: subject.case === 'sessionId' ? subject.value : null,
        paymentIntentId: subject.case === 'paymentIntentId' ? subject.value : null,
        instruction: refundInstructionOf(request.instruction),
        features: caller.features,
        preview: request.preview,
        askedByPartner: request.askedByPartner,
      });
      const [first] = reserved.cards;
      return {
        allocations: reserved.cards.map(({ intent, amountCents, last4, captures }) => ({
          paymentIntentId: intent.id,
          paymentMethodId: intent.paymentMethodId ?? '',
          chargeId: intent.latestChargeId ?? '',
          processorIntentId: intent.processorIntentId ?? '',
          ...(intent.processorAccount === null
            ? {}
            : { processor: intent.processorAccount.processor, processorAccount: intent.processorAccount.account }),
          last4,
          amountCents: BigInt(amountCents),
          captures: captures.map((part) => ({ captureId: part.captureId, amountCents: BigInt(part.amountCents) })),
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

    async recordDispute({ disputeId, processorIntentId, amountCents, heldCents, seq }, { scope }) {
      const { charge, isBeyondReceived } = await recordDispute(context, scope, processorIntentId, {
        ...{ disputeId, seq },
        ...{ amountCents: centsFromInt64(amountCents), heldCents: centsFromInt64(heldCents) },
      });
      return { charge: chargeAtProcessor(charge), isBeyondReceived };
    },

    async getChargeAtProcessor({ id }, { scope }) {
      const charge = await findChargeAtProcessor(context.database, scope, id);
      if (charge === undefined) throw new Failure('charge_not_found');
      return chargeAtProcessor(charge);
    },

    async listAccountsWithPayments({ afterAccountId, afterTestMode, limit }) {
      const after = { accountId: afterAccountId, testMode: afterTestMode };
      const accounts = await accountsWithPayments(context.database, after, Math.min(Math.max(limit, 1), 500));
      return {
        accounts: accounts.map(({ scope, newest }) => ({
          ...scope,
          ...present({ processor: newest?.processor, processorAccount: newest?.account }),
        })),
      };
    },

    async acceptProcessorEvent({ processor, eventId, type, objectId, createdAtMs }, { scope }) {
      const createdAt = new Date(Number(createdAtMs));
      const event = { processor, eventId, type, objectId, createdAt };
      await (type === cardUpdated ? refreshCard : acceptProcessorEvent)(context, scope, event);
      return {};
    },

    async releaseRefund(request, { scope }) {
      const { refundId, paymentIntentIds, keepReserved } = request;
      const session = await releaseRefund(context, scope, refundId, paymentIntentIds, keepReserved);
      return session === undefined ? {} : sessionMessage(scope, session);
    },
  };
}

/** Which cards the caller's account may charge, and how. */
function chargeableBy(caller: Call['caller']) {
  return {
    refusesHealthCards: !acceptsHealthCards(caller),
    acceptsPart: caller.features.includes('partial_approvals'),
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

function chargeAtProcessor(charge: ChargeAtProcessor) {
  const { paymentIntentId, chargeId, processorIntentId } = charge;
  return {
    ...{ paymentIntentId, chargeId, processorIntentId },
    ...present({
      checkoutSessionId: charge.sessionId,
      customerId: charge.customerId,
      processorChargeId: charge.processorChargeId,
    }),
  };
}

function required(idempotency: Idempotency | undefined): Idempotency {
  if (idempotency === undefined) throw new Failure('idempotency_key_required');
  return idempotency;
}

function refundInstructionOf(message: InstructionMessage | undefined): RefundInstruction {
  return {
    ...instructionOf(message, 'refund_amount_invalid'),
    atMost: message?.atMost ?? false,
    recurringLinesOnly: message?.recurringLinesOnly ?? false,
    letterFee: message?.letterFee ?? false,
    methods: (message?.methods ?? []).map((method) => ({
      paymentMethodId: method.paymentMethodId,
      amount: centsFromInt64(method.amountCents),
    })),
  };
}
