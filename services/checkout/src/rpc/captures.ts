import { Failure } from '@eligo/failures';
import { type Database, pageOf } from '@eligo/postgres';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { captureMessage } from '../messages/capture.ts';
import { findCaptureRecord, listCaptures } from '../store/capture-records.ts';

/** Captures, to read. */
export function captureHandlers(database: Database): Implementation<typeof CheckoutService> {
  return {
    async getCapture({ id }, { scope }) {
      const capture = await findCaptureRecord(database, scope, id);
      if (capture === undefined) throw new Failure('capture_not_found');
      return captureMessage(scope, capture);
    },

    async listCaptures({ page, checkoutSessionId, paymentIntentId }, { scope }) {
      const filter = { sessionId: checkoutSessionId, paymentIntentId };
      const { captures, hasMore } = await listCaptures(database, scope, pageOf(page), filter);
      return { captures: captures.map((capture) => captureMessage(scope, capture)), hasMore };
    },
  };
}
