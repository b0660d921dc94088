import type { Database, Scope } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import type { TargetRules } from '../domain/target.ts';

/** What the actions of this service work with. */
export interface Webhooks {
  readonly database: Database;
  readonly clock: Clock;
  readonly rules: TargetRules;
  readonly secrets: SecretBox;
  /** Tells the sender that these endpoints have something to be sent now. */
  wake(scope: Scope, webhookIds: readonly string[]): void;
}

/** Seals secrets for the database and opens them again; bound to the account and mode. */
export interface SecretBox {
  seal(scope: Scope, secret: string): string;
  open(scope: Scope, sealed: string): string;
}
