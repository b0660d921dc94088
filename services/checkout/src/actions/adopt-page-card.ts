import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { PaymentMethodFacts } from '@eligo/processor';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { findPageCard, insertPageCard } from '../store/page-cards.ts';
import { insertPaymentMethod } from '../store/payment-methods.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { refusalOf } from './processor-refusal.ts';
import { storedCard } from './recognize-card.ts';

/** A card as the processor's own fields on the page of a session gave it. */
export interface GivenOnPage {
  readonly sessionId: string;
  readonly testClockId: string | null;
  /** The processor's identifier: `pm_…`. */
  readonly processorPaymentMethodId: string;
  /** Where it stands in the request. */
  readonly loc: readonly string[];
  /** Whether it is kept for charges without the shopper. */
  readonly offSession: boolean;
}

/**
 * Makes a payment method of a card that the shopper typed into the processor's fields, and answers its id; for a card that this session's page has
 * given before, the same. A card that belongs to a customer, or was given for another session, is answered like one that does not exist: the
 * identifier of a stranger's card pays nothing.
 */
export async function adoptPageCard(charging: Charging, scope: Scope, given: GivenOnPage): Promise<string> {
  const { processorPaymentMethodId, sessionId } = given;
  const known = await findPageCard(charging.database, scope, processorPaymentMethodId);
  if (known !== undefined) {
    if (known.sessionId !== sessionId) throw notFound(given);
    return known.paymentMethodId;
  }
  const found = await charging.processors.of(scope).retrievePaymentMethod(processorPaymentMethodId);
  // The browser sent it: that the processor does not have it says nothing of our own objects.
  if (found.kind === 'rejected' && found.status === 404) throw notFound(given);
  if (found.kind !== 'found') throw refusalOf(found, () => notFound(given));
  if (found.customerId !== undefined || found.paymentMethodId !== processorPaymentMethodId) throw notFound(given);
  const id = await writeCard(charging, scope, given, found);
  // Another request with the same card was faster.
  return id ?? adoptPageCard(charging, scope, given);
}

async function writeCard(
  charging: Charging,
  scope: Scope,
  { sessionId, testClockId, processorPaymentMethodId, offSession }: GivenOnPage,
  { card, billing }: PaymentMethodFacts,
): Promise<string | undefined> {
  const paymentMethodId = newId('payment_method');
  const stored = await storedCard(charging.database, card);
  return withTx(charging.database, scope, async (tx) => {
    if (!(await insertPageCard(tx, scope, { processorPaymentMethodId, sessionId, paymentMethodId }))) return undefined;
    await insertPaymentMethod(tx, scope, {
      id: paymentMethodId,
      customerId: null,
      processorPaymentMethodId,
      processorCustomerId: null,
      offSession,
      card: stored,
      billingDetails: billing.name === undefined ? {} : { name: billing.name },
      metadata: {},
      createdAt: await timeOnClock(tx, scope, charging.clock, testClockId),
      detachedAt: null,
      version: 1n,
    });
    return paymentMethodId;
  });
}

function notFound({ loc }: GivenOnPage): Failure {
  return Failure.invalid(loc, 'payment_method_not_found', 'payment_method_not_found');
}
