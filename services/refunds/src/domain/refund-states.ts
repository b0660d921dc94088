import { stateTable } from '@eligo/values';

/** What a refund stands at. `requested` and `refused` are never shown. */
export type RefundStatus =
  | 'requested'
  | 'refused'
  | 'pending'
  | 'requires_action'
  | 'succeeded'
  | 'failed'
  | 'canceled';

/**
 * The moves of a refund (decisions 7), and one more: a refund that went through may still be returned by the card's bank, days later, which
 * makes it failed.
 */
export const refundStates = stateTable<RefundStatus>({
  requested: ['pending', 'refused'],
  refused: [],
  pending: ['requires_action', 'succeeded', 'failed', 'canceled'],
  requires_action: ['pending', 'succeeded', 'failed', 'canceled'],
  succeeded: ['failed'],
  failed: [],
  canceled: [],
});

/** The state of one card's part of a refund; `releasing` until checkout has released it. */
export type ItemStatus = 'pending' | 'requires_action' | 'succeeded' | 'releasing' | 'failed' | 'canceled';

export const itemStates = stateTable<ItemStatus>({
  pending: ['requires_action', 'succeeded', 'releasing'],
  requires_action: ['pending', 'succeeded', 'releasing'],
  succeeded: ['releasing'],
  releasing: ['failed', 'canceled'],
  failed: [],
  canceled: [],
});

/** What an attempt to ask the processor stands at; `unknown` is a state and not a failure. */
export type AttemptStatus = 'created' | 'sending' | 'unknown' | 'accepted' | 'failed' | 'ended';

export const attemptStates = stateTable<AttemptStatus>({
  created: ['sending'],
  sending: ['unknown', 'accepted', 'failed'],
  unknown: ['sending', 'accepted', 'failed'],
  accepted: ['ended'],
  failed: [],
  ended: [],
});

/**
 * What a refund stands at by its cards' parts. A split refund of which one card took its part and the other did not has succeeded, for less;
 * while a part is undecided it is where it was.
 */
export function refundStatusOf(current: RefundStatus, parts: readonly ItemStatus[]): RefundStatus {
  if (parts.some((part) => part === 'pending' || part === 'releasing')) {
    return current === 'requires_action' && parts.every((part) => part !== 'requires_action') ? 'pending' : current;
  }
  if (parts.includes('requires_action')) return 'requires_action';
  if (parts.includes('succeeded')) return 'succeeded';
  // What had gone through and was returned has failed, whatever the processor calls it.
  return parts.includes('failed') || current === 'succeeded' ? 'failed' : 'canceled';
}
