import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import { RefundInstructionSchema } from '@eligo/proto/checkout/v1/checkout';
import type { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import type { Implementation } from '@eligo/rpc';
import type { Refunds } from '../actions/context.ts';
import { previewRefund } from '../actions/preview-refund.ts';
import { refund } from '../actions/refund-session.ts';
import { settleTestRefund } from '../actions/settle-test-refund.ts';
import { updateRefund } from '../actions/update-refund.ts';
import { refundMessage } from '../messages/refund.ts';
import { findRefund, listRefunds } from '../store/refunds.ts';

/** Refunds as the gateway asks for them. */
export function refundMethods(refunds: Refunds): Implementation<typeof RefundsService> {
  const { database } = refunds;
  return {
    refundSession({ sessionId, instruction, metadata, idempotency }, call) {
      const subject = { kind: 'session', sessionId } as const;
      const { features } = call.caller;
      return refund(refunds, call.scope, { subject, instruction, features, reason: null, metadata, idempotency }, call);
    },
    async previewRefund({ sessionId, instruction }, call) {
      const subject = { kind: 'session', sessionId } as const;
      return { allocations: [...(await previewRefund(refunds, subject, instruction, call))] };
    },
    async createRefund({ paymentIntentId, amountCents, reason, metadata, idempotency }, call) {
      const subject = { kind: 'payment_intent', paymentIntentId } as const;
      const instruction = create(RefundInstructionSchema, amountCents === undefined ? {} : { amountCents });
      const { features } = call.caller;
      const request = { subject, instruction, features, reason: reason ?? null, metadata, idempotency };
      const answer = await refund(refunds, call.scope, request, call);
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
      return refundMessage(await updateRefund(refunds, scope, id, change));
    },
    async settleTestRefund({ id, succeed }, { scope }) {
      return refundMessage(await settleTestRefund(refunds, scope, id, succeed));
    },
  };
}
