import { Failure } from '@eligo/failures';
import { pageOf, withTx } from '@eligo/postgres';
import type { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import type { Implementation } from '@eligo/rpc';
import { centsFromInt64 } from '@eligo/values';
import { closeDispute, updateDispute } from '../actions/change-dispute.ts';
import { createTestDispute } from '../actions/create-test-dispute.ts';
import { beginEvidence, uploadEvidence } from '../actions/upload-evidence.ts';
import type { Context } from '../context.ts';
import type { Dispute } from '../domain/dispute.ts';
import { disputeMessage } from '../messages/dispute.ts';
import { findDispute, listDisputes } from '../store/disputes.ts';
import { addEvidencePart } from '../store/evidence-files.ts';

/** Disputes as the gateway asks for them. */
export function disputeHandlers(context: Context): Implementation<typeof RefundsService> {
  const { database } = context;
  const message = (dispute: Dispute) => disputeMessage(dispute, new Date());
  return {
    async getDispute({ id }, { scope }) {
      const dispute = await findDispute(database, scope, id);
      if (dispute === undefined) throw new Failure('dispute_not_found');
      return message(dispute);
    },
    async listDisputes({ page, paymentIntentId, chargeId, checkoutSessionId }, { scope }) {
      const filter = { paymentIntentId, chargeId, checkoutSessionId };
      const { disputes, hasMore } = await listDisputes(database, scope, filter, pageOf(page));
      return { disputes: disputes.map(message), hasMore };
    },
    async beginEvidence({ disputeId, files, clearedFields }, { scope }) {
      const begun = await beginEvidence(context, scope, disputeId, { files, clearedFields });
      return { files: begun.map((parts) => ({ isUploaded: parts === undefined, parts: parts ?? 0 })) };
    },
    async addEvidencePart({ disputeId, field, fileId, part, bytes }, { scope }) {
      await withTx(database, scope, (tx) => addEvidencePart(tx, scope, { disputeId, field, fileId }, part, bytes));
      return {};
    },
    async uploadEvidence({ disputeId, field, fileId }, call) {
      await uploadEvidence(context, call.scope, { disputeId, field, fileId }, call);
      return {};
    },
    async updateDispute({ id, evidence, submit, metadata, replaceMetadata }, call) {
      const change = { evidence, submit, metadata: replaceMetadata ? metadata : undefined };
      return message(await updateDispute(context, call.scope, id, change, call));
    },
    async closeDispute({ id }, call) {
      return message(await closeDispute(context, call.scope, id, call));
    },
    async createTestDispute({ chargeId, amountCents, reason, inquiry }, call) {
      const dispute = {
        ...{ chargeId, reason, inquiry },
        amountCents: amountCents === undefined ? undefined : centsFromInt64(amountCents),
      };
      return message(await createTestDispute(context, call.scope, dispute, context.callFor(call.scope, [])));
    },
  };
}
