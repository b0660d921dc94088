import type { Scope } from '@eligo/postgres';
import type { ProcessorEvent } from '@eligo/processor/events';

/** A processor whose events are taken: the secrets that may sign them, and whose account an event is of. */
export interface EventSource {
  readonly name: 'sandbox' | 'stripe';
  /** Several while a secret is rotated. */
  readonly secrets: readonly string[];
  /** The accounts and modes that an event may be of; none for an account of the processor that is not ours. */
  accountsOf(event: ProcessorEvent): Promise<readonly Scope[]>;
}
