import type { Database, Scope } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import type { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions, Client } from '@eligo/rpc';
import type { Logger } from '@eligo/service';
import type { RefundGroups } from './actions/refund-groups.ts';
import type { Budgets } from './budgets.ts';
import type { Failpoint } from './failpoints.ts';
import type { DueWork } from './store/due-work.ts';

/** What the actions of this service work with. */
export interface Context {
  readonly database: Database;
  readonly processors: Processors;
  readonly checkout: Client<typeof CheckoutService>;
  /** A call of this service's own on an account's behalf. */
  callFor(scope: Scope, features: readonly string[]): CallOptions;
  failpoint(name: Failpoint): Promise<void> | undefined;
  /** Starts this work now, without waiting for it. */
  wake(work: readonly DueWork[]): void;
  readonly logger: Logger;
  /** Counts a dispute that withholds an amount that was already refunded. */
  countDisputeBeyondReceived(): void;
  readonly budgets: Budgets;
  readonly groups: RefundGroups;
}
