import type { EncodedEvent } from '@eligo/events';
import type { Database, GroupedReads, GroupedWrites } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Client } from '@eligo/rpc';
import type { Keyring, Logger, ServiceContext } from '@eligo/service';
import type { Clock } from '@eligo/values';
import type { Claimed, GroupedClaim } from './actions/charge-claim.ts';
import type { InvoiceClaim, InvoiceClaimed } from './actions/claim-invoice-charges.ts';
import type { PaymentTurns } from './actions/payment-turn.ts';
import type { PlainCarts } from './actions/plain-carts.ts';
import type { GroupedReservation, ReservedRefund } from './actions/planned-reservation.ts';
import type { ChargeBudgets } from './charge-budgets.ts';
import type { ChargeAttempt } from './domain/charge-attempt.ts';
import type { ChargeFailpoint } from './failpoints.ts';
import type { PageUrls } from './page-urls.ts';
import type { AttemptToSend } from './store/charge-attempts.ts';
import type { CreationFacts, FactsQuery } from './store/creation-facts.ts';
import type { NewSessionRows } from './store/new-sessions.ts';
import type { ConfirmedCharge } from './store/settle-confirmed.ts';
import type { PaidInvoiceCharge } from './store/settle-invoice-charges.ts';

/** What checkout's handlers, actions, consumers and jobs work with. */
export interface Context {
  readonly database: Database;
  readonly processors: Processors;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keyring: Pick<Keyring, 'seal' | 'open'>;
  readonly catalog: Client<typeof CatalogService>;
  readonly callerFor: ServiceContext['callerFor'];
  readonly pages: PageUrls;
  readonly failpoint: (name: ChargeFailpoint) => Promise<void> | undefined;
  readonly budgets: ChargeBudgets;
  readonly turns: PaymentTurns;
  readonly groups: ChargeGroups;
  /** Reads what new sessions depend on; those that come at the same time share a statement. */
  readonly creationFacts: GroupedReads<FactsQuery, CreationFacts>;
  /** Prices carts of plain prices; those that come at the same time share a call. Undefined for a cart that the call refused. */
  readonly plainCarts: PlainCarts;
  /** Writes plain sessions, those that come at the same time together (ADR 20). */
  readonly newSessions: GroupedWrites<NewSessionRows, void>;
}

/** A confirm that charged, with the events that say so. */
export interface SettlementWrite extends ConfirmedCharge {
  readonly events: readonly EncodedEvent[];
}

/** A charge of an invoice that took its money, with the events that say so. */
export interface InvoiceSettlement extends PaidInvoiceCharge {
  readonly events: readonly EncodedEvent[];
}

/** The writes of confirms, invoices and refunds that are joined with others of the same kind, account and mode (ADR 20). */
export interface ChargeGroups {
  /** Returns the attempt after the fence, or undefined when it must not be sent. */
  readonly fences: GroupedWrites<AttemptToSend, ChargeAttempt | undefined>;
  /** False, with nothing written, when the session has changed since its claim or the attempt is settled. */
  readonly settlements: GroupedWrites<SettlementWrite, boolean>;
  /** Returns the result of the claim. Fails as `claimCharge` does. */
  readonly claims: GroupedWrites<GroupedClaim, Claimed>;
  /** Begins charges of invoices. Returns and fails as each alone does. */
  readonly invoiceClaims: GroupedWrites<InvoiceClaim, InvoiceClaimed>;
  /** As `fences`, for charges of invoices, which come in batches. */
  readonly invoiceFences: GroupedWrites<AttemptToSend, ChargeAttempt | undefined>;
  /** False, with nothing written, for one that is to be settled from its rows: it came alone, or is settled already. */
  readonly invoiceSettlements: GroupedWrites<InvoiceSettlement, boolean>;
  /** Returns the reservation. Fails as `reserveRefund` does. */
  readonly reservations: GroupedWrites<GroupedReservation, ReservedRefund>;
}
