import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { HeldCard } from '../store/captures.ts';

/**
 * Looks at the processor whether cards that stay held after a capture can be captured again. Throws `multiple_captures_not_supported` where one
 * cannot, and `lock_timeout` where the processor does not tell now. Called with nothing written.
 */
export async function requireSeveralCaptures(
  context: Context,
  scope: Scope,
  cards: readonly HeldCard[],
  deadlineMs: number,
): Promise<void> {
  for (const { intent, processorChargeId } of cards) {
    if (processorChargeId === null) throw new Error(`Payment intent ${intent.id} is held without a charge`);
    const processor = context.processors.at(scope, intent.processorAccount);
    const timeoutMs = Math.max(deadlineMs - performance.now(), 0);
    const charge = await processor.retrieveCharge(processorChargeId, { timeoutMs });
    if (charge.kind !== 'found') {
      const retryAfterMs = charge.kind === 'not_now' ? charge.retryAfterMs : 1_000;
      throw new Failure('lock_timeout', { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) });
    }
    if (!charge.allowsSeveralCaptures) throw new Failure('multiple_captures_not_supported');
  }
}
