import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { isTestCardName } from '@eligo/processor';
import { isId, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Customer } from '../domain/customer.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { findCustomer } from '../store/customers.ts';
import { insertPaymentMethod } from '../store/payment-methods.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { ensureProcessorCustomer } from './processor-customer.ts';
import { refusalOf } from './processor-refusal.ts';
import { storedCard } from './recognize-card.ts';

export interface TestPaymentMethodRequest {
  readonly customerId: string | null;
  /** A test card's name (decisions 12). */
  readonly card: string;
  /** Where the card's name stands in the partner's body. */
  readonly cardLoc: readonly string[];
  readonly offSession: boolean;
}

/** Makes a payment method from one of the sandbox's test cards; with a customer it is attached to it. */
export async function createTestPaymentMethod(
  context: Pick<Context, 'database' | 'clock' | 'processors' | 'failpoint'>,
  scope: Scope,
  request: TestPaymentMethodRequest,
): Promise<PaymentMethod> {
  if (!scope.testMode) throw new Failure('test_mode_required');
  const { card } = request;
  if (!isTestCardName(card)) throw Failure.invalid(request.cardLoc, 'enum', 'Not the name of a test card');
  const processor = context.processors.of(scope);
  if (processor.testBank === undefined) throw new Failure('processor_not_configured');
  const customer = await customerOf(context, scope, request.customerId);

  const id = newId('payment_method');
  const made = await processor.testBank.createPaymentMethod({ card }, { idempotencyKey: `${id}:create` });
  if (made.kind !== 'found') throw refusalOf(made, () => new Failure('internal'));
  const processorCustomerId = customer === null ? null : await ensureProcessorCustomer(context, scope, customer);
  if (processorCustomerId !== null) {
    const attached = await processor.attachPaymentMethod(made.paymentMethodId, processorCustomerId, {
      idempotencyKey: `${id}:attach`,
    });
    if (attached.kind !== 'found') throw refusalOf(attached, () => new Failure('internal'));
  }
  const stored = await storedCard(context.database, scope, made.card);
  return withTx(context.database, scope, async (tx) => {
    const createdAt = await timeOnClock(tx, scope, context.clock, customer?.testClockId ?? null);
    const method: PaymentMethod = {
      id,
      customerId: customer?.id ?? null,
      processorAccount: processor.account,
      processorPaymentMethodId: made.paymentMethodId,
      processorCustomerId,
      offSession: request.offSession,
      card: stored,
      billingDetails: {},
      metadata: {},
      createdAt,
      detachedAt: null,
      version: 1n,
    };
    await insertPaymentMethod(tx, scope, method);
    return method;
  });
}

async function customerOf(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  id: string | null,
): Promise<Customer | null> {
  if (id === null) return null;
  const customer = await findCustomer(database, scope, id);
  if (customer !== undefined) return customer;
  const text = isId('customer', id) ? `customer_not_found: ${id}` : 'customer_not_found';
  throw Failure.invalid(['body', 'payment_method', 'customer'], 'customer_not_found', text);
}
