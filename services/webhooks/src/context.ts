import type { Database, Scope } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import type { DeliveryInHand } from './domain/delivery.ts';
import type { TargetRules } from './domain/target.ts';

/** What the actions of this service work with. */
export interface Context {
  readonly database: Database;
  readonly clock: Clock;
  readonly rules: TargetRules;
  readonly secrets: SecretBox;
  readonly sender: Sender;
  readonly share: DeliveryShare;
}

/** What accounts take of this process for their deliveries. */
export interface DeliveryShare {
  /** Does work on the deliveries of an account, whose time counts. */
  run<Done>(scope: Scope, work: () => Promise<Done>): Promise<Done>;
  /** How many deliveries of the account one transaction plans at most. */
  mostPlanned(scope: Scope): number;
  /** Whether the account took more than its share while other accounts are short of time: deliveries of many at once wait then. */
  isSpent(scope: Scope): boolean;
  /**
   * Plans many deliveries that the account asks for, as its own work. While other accounts are short of time, one at a time, and none of an account that took more than its share: throws
   * `rate_limited`.
   */
  planMany(scope: Scope, plan: () => Promise<void>): Promise<void>;
}

/** The sender of this process, as seen by the code that plans deliveries. */
export interface Sender {
  /** The name in which it holds lanes, and for how long at a time. */
  readonly owner: string;
  readonly leaseMs: number;
  /** How many of `most` deliveries each of these endpoints may be handed; none where older ones may wait. */
  rooms(scope: Scope, endpoints: readonly { readonly webhookId: string }[], most: number): ReadonlyMap<string, number>;
  /** Takes deliveries that were planned for it, in lanes that were taken for it. */
  handOver(scope: Scope, deliveries: readonly DeliveryInHand[]): void;
  /** Watches the lanes of these endpoints, which it may hold with deliveries that it does not know: the COMMIT that took them was not answered. */
  watchLanes(scope: Scope, webhookIds: readonly string[]): void;
  /** Says that these endpoints have something waiting that is due now. */
  wake(scope: Scope, webhookIds: readonly string[]): void;
}

/** Seals secrets for the database and opens them again; bound to the account and mode. */
export interface SecretBox {
  seal(scope: Scope, secret: string): string;
  open(scope: Scope, sealed: string): string;
}
