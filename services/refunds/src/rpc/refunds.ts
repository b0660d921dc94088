import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import { RefundInstructionSchema } from '@eligo/proto/checkout/v1/checkout';
import type { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import type { Implementation } from '@eligo/rpc';
import { acceptProcessorEvent } from '../actions/accept-processor-event.ts';
import { previewRefund } from '../actions/preview-refund.ts';
import { refund } from '../actions/refund-session.ts';
import { settleTestRefund } from '../actions/settle-test-refund.ts';
import { updateRefund } from '../actions/update-refund.ts';
import type { Context } from '../context.ts';
import { refundMessage } from '../messages/refund.ts';
import { accountsAtProcessor } from '../store/event-lists.ts';
import { findRefund, listRefunds } from '../store/refunds.ts';

/** Refunds as the gateway asks for them. */
export function refundHandlers(context: Context): Implementation<typeof RefundsService> {
  const { database } = context;
  return {
    refundSession({ sessionId, instruction, metadata, idempotency }, call) {
      const subject = { kind: 'session', sessionId } as const;
      const { features } = call.caller;
      return refund(context, call.scope, { subject, instruction, features, reason: null, metadata, idempotency }, call);
    },
    async previewRefund({ sessionId, instruction }, call) {
      const subject = { kind: 'session', sessionId } as const;
      return { allocations: [...(await previewRefund(context, subject, instruction, call))] };
    },
    async createRefund({ paymentIntentId, amountCents, reason, metadata, idempotency }, call) {
      const subject = { kind: 'payment_intent', paymentIntentId } as const;
      const instruction = create(RefundInstructionSchema, amountCents === undefined ? {} : { amountCents });
      const { features } = call.caller;
      const request = { subject, instruction, features, reason: reason ?? null, metadata, idempotency };
      const answer = await refund(context, call.scope, request, call);
      if (answer.refund === undefined) throw new Error('The refund response has no refund');
      return answer.refund;
    },
    async getRefund({ id }, { scope }) {
      const found = await findRefund(database, scope, id);
      if (found === undefined) throw new Failure('refund_not_found');
      return refundMessage(found);
    },
    async listRefunds({ page, paymentIntentId, checkoutSessionId }, { scope }) {
      const filter = { paymentIntentId, checkoutSessionId };
      const { refunds: found, hasMore } = await listRefunds(database, scope, filter, pageOf(page));
      return { refunds: found.map(refundMessage), hasMore };
    },
    async updateRefund({ id, reason, metadata, replaceMetadata }, { scope }) {
      const change = { reason, metadata: replaceMetadata ? metadata : undefined };
      return refundMessage(await updateRefund(context, scope, id, change));
    },
    async acceptProcessorEvent({ processor, eventId, type, objectId, createdAtMs, processorAccount }, { scope }) {
      const createdAt = new Date(Number(createdAtMs));
      const account = processorAccount ?? null;
      await acceptProcessorEvent(context, scope, {
        ...{ processor, processorAccount: account, eventId, type, objectId, createdAt },
      });
      return {};
    },
    async findAccountsAtProcessor({ processor, processorAccount }) {
      if (processor !== 'sandbox' && processor !== 'stripe') throw new Failure('bad_request');
      return { accounts: await accountsAtProcessor(database, processor, processorAccount) };
    },
    async settleTestRefund({ id, succeed }, { scope }) {
      return refundMessage(await settleTestRefund(context, scope, id, succeed));
    },
  };
}
