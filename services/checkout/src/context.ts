import type { EncodedEvent } from '@eligo/events';
import type { Database, GroupedReads, GroupedWrites } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Client } from '@eligo/rpc';
import type { Keyring, Logger, ServiceContext } from '@eligo/service';
import type { Clock } from '@eligo/values';
import type { CaptureToClaim, ClaimedCapture } from './actions/capture-claim.ts';
import type { Claimed, GroupedClaim } from './actions/charge-claim.ts';
import type { InvoiceClaim, InvoiceClaimed } from './actions/claim-invoice-charges.ts';
import type { PaymentTurns } from './actions/payment-turn.ts';
import type { PlainCarts } from './actions/plain-carts.ts';
import type { GroupedReservation, ReservedRefund } from './actions/planned-reservation.ts';
import type { ChargeBudgets } from './charge-budgets.ts';
import type { Address } from './domain/address.ts';
import type { ChargeAttempt } from './domain/charge-attempt.ts';
import type { Session } from './domain/session.ts';
import type { ChargeFailpoint } from './failpoints.ts';
import type { PageUrls } from './page-urls.ts';
import type { NewCapture } from './store/captures.ts';
import type { CapturedHold } from './store/captures-together.ts';
import type { AttemptToSend } from './store/charge-attempts.ts';
import type { CreationFacts, FactsQuery } from './store/creation-facts.ts';
import type { IntentOperation } from './store/intent-operations.ts';
import type { KeyedSessionRows, NewSessionRows } from './store/new-sessions.ts';
import type { BegunPayment, PaidPage } from './store/page-payments.ts';
import type { ConfirmedMethod } from './store/payment-methods.ts';
import type { ReceivedCharge } from './store/received-charges.ts';
import type { ConfirmedCharge } from './store/settle-confirmed.ts';
import type { HeldFirst } from './store/two-cards.ts';

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
  readonly newKeyedSessions: GroupedWrites<KeyedSessionRows, boolean>;
}

/** A charge that completes its session, with the events that say so. */
export interface SettlementWrite extends ConfirmedCharge {
  readonly events: readonly EncodedEvent[];
  /** What its card has become, where it was a confirmation token. */
  readonly method: ConfirmedMethod | undefined;
}

/** A payment on the page that begins. */
export interface PagePaymentWrite extends BegunPayment {
  readonly session: Session;
  /** The address that the shopper typed. */
  readonly address: Address | null;
  readonly events: readonly EncodedEvent[];
}

/** A charge of an invoice that took its money, with the events that say so. */
export interface InvoiceSettlement extends ReceivedCharge {
  readonly attempt: ChargeAttempt;
  readonly events: readonly EncodedEvent[];
}

/** The first card of a payment with two, with the events that say that it is held and that the second one begins. */
export interface HeldFirstWrite extends HeldFirst {
  readonly events: readonly EncodedEvent[];
  readonly method: ConfirmedMethod | undefined;
}

/** The second card of a payment with two, with the capture of the first. */
export interface ChargedSecondWrite extends SettlementWrite {
  readonly capture: NewCapture;
}

/** A capture that completes its session, with the events that say so. */
export interface CapturedWrite extends CapturedHold {
  readonly events: readonly EncodedEvent[];
  /** The context of its request. */
  readonly inContext: <Result>(work: () => Result) => Result;
}

/** The reads and writes of payments and refunds that are joined with others of the same kind, account and mode (ADR 20). */
export interface ChargeGroups {
  /** Returns the attempt after the fence, or undefined when it must not be sent. */
  readonly fences: GroupedWrites<AttemptToSend, ChargeAttempt | undefined>;
  /** False, with nothing written, when the session has changed since its claim or the attempt is settled. */
  readonly settlements: GroupedWrites<SettlementWrite, boolean>;
  /** Returns the result of the claim. Fails as `claimCharge` does. */
  readonly claims: GroupedWrites<GroupedClaim, Claimed>;
  /** Begins charges of invoices. Returns and fails as each alone does. */
  readonly invoiceClaims: GroupedWrites<InvoiceClaim, InvoiceClaimed>;
  /** False, with nothing written, for one that is to be settled from its rows: it came alone, or is settled already. */
  readonly invoiceSettlements: GroupedWrites<InvoiceSettlement, boolean>;
  /** What the page of a session shows; undefined where there is no such session. */
  readonly pages: GroupedReads<string, PaidPage | undefined>;
  /** Whether a payment of the session is under way, so that its outcome is still to come. */
  readonly paymentsInFlight: GroupedReads<string, boolean>;
  /** False, with nothing written, when the session has changed since it was read, is being paid, or when a card was given or is held elsewhere. */
  readonly pagePayments: GroupedWrites<PagePaymentWrite, boolean>;
  /** False, with nothing written, as of `settlements`, and when another process works on the plan. */
  readonly pageSettlements: GroupedWrites<SettlementWrite, boolean>;
  /** False, with nothing written, as of `pageSettlements`. */
  readonly heldFirst: GroupedWrites<HeldFirstWrite, boolean>;
  /** Returns the operation that captures the first card, under a lease; undefined, with nothing written, as of `pageSettlements`. */
  readonly chargedSecond: GroupedWrites<ChargedSecondWrite, IntentOperation | undefined>;
  /** False, with nothing written, as of `pageSettlements`. */
  readonly capturesOnPage: GroupedWrites<CapturedWrite, boolean>;
  /** Undefined, with nothing written, for a capture that is not plain. */
  readonly captures: GroupedWrites<CaptureToClaim, ClaimedCapture | undefined>;
  /** False, with nothing written, when a record has changed since the claim. */
  readonly capturesDone: GroupedWrites<CapturedWrite, boolean>;
  /** Returns the reservation. Fails as `reserveRefund` does. */
  readonly reservations: GroupedWrites<GroupedReservation, ReservedRefund>;
}
