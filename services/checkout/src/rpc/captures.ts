import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type {
  CaptureInstruction as CaptureInstructionMessage,
  CheckoutService,
  Idempotency,
} from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { centsFromInt64 } from '@eligo/values';
import { capturePaymentIntent, captureSession } from '../actions/capture-session.ts';
import { previewCapture } from '../actions/preview-capture.ts';
import type { Context } from '../context.ts';
import type { CaptureInstruction } from '../domain/capture-allocation.ts';
import { captureMessage } from '../messages/capture.ts';
import { instructionOf } from '../messages/instruction.ts';
import { findCaptureRecord, findCaptureRecords, listCaptures } from '../store/capture-records.ts';

/** Captures: to make, to preview and to read. */
export function captureHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database } = context;
  return {
    captureSession({ sessionId, instruction, metadata, idempotency }, { scope }) {
      const order = { instruction: captureInstructionOf(instruction), metadata, key: keyOf(idempotency) };
      return captureSession(context, scope, sessionId, order);
    },

    async previewCapture({ sessionId, instruction }, { scope }) {
      const cards = await previewCapture(context, scope, sessionId, captureInstructionOf(instruction));
      return { allocations: cards.map((card) => ({ ...card, amountCents: BigInt(card.amountCents) })) };
    },

    capturePaymentIntent({ id, amountCents, metadata, idempotency }, { scope }) {
      const amount = amountCents === undefined ? undefined : centsFromInt64(amountCents);
      const instruction = { amount, entries: [], isFinal: true };
      return capturePaymentIntent(context, scope, id, { instruction, metadata, key: keyOf(idempotency) });
    },

    async getCapture({ id }, { scope }) {
      const capture = await findCaptureRecord(database, scope, id);
      if (capture === undefined) throw new Failure('capture_not_found');
      return captureMessage(scope, capture);
    },

    async batchGetCaptures({ ids }, { scope }) {
      const captures = await findCaptureRecords(database, scope, ids);
      return { captures: captures.map((capture) => captureMessage(scope, capture)), hasMore: false };
    },

    async listCaptures({ page, checkoutSessionId, paymentIntentId }, { scope }) {
      const filter = { sessionId: checkoutSessionId, paymentIntentId };
      const { captures, hasMore } = await listCaptures(database, scope, pageOf(page), filter);
      return { captures: captures.map((capture) => captureMessage(scope, capture)), hasMore };
    },
  };
}

function keyOf(idempotency: Idempotency | undefined) {
  return idempotency && { key: idempotency.key, requestHash: Buffer.from(idempotency.requestHash) };
}

function captureInstructionOf(message: CaptureInstructionMessage | undefined): CaptureInstruction {
  return { ...instructionOf(message, 'capture_amount_invalid'), isFinal: message?.finalCapture ?? false };
}
