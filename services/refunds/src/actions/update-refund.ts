import { isDeepStrictEqual } from 'node:util';
import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Refund } from '../domain/refund.ts';
import { lockRefund, saveRefund } from '../store/refunds.ts';
import { appendRefundEvent } from './refund-events.ts';

/** Changes a refund's reason and metadata; nothing else of a refund may be changed. A change that equals the record is no event (decisions 1.2). */
export function updateRefund(
  { database }: Context,
  scope: Scope,
  refundId: string,
  change: { reason?: string | undefined; metadata?: Readonly<Record<string, string>> | undefined },
): Promise<Refund> {
  return withTx(database, scope, async (tx) => {
    const before = await lockRefund(tx, scope, refundId);
    if (before === undefined) throw new Failure('refund_not_found');
    const reason = change.reason ?? before.reason;
    const metadata = { ...(change.metadata ?? before.metadata) };
    if (reason === before.reason && isDeepStrictEqual(metadata, { ...before.metadata })) return before;
    const after = { ...before, reason, metadata };
    await saveRefund(tx, scope, before, after);
    await appendRefundEvent(tx, scope, 'refund.updated', after);
    return after;
  });
}
