import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import { BillingService } from '@eligo/proto/billing/v1/billing';
import { type Call, type Handlers, implement } from '@eligo/rpc';
import { centsFromInt64 } from '@eligo/values';
import { cancelSubscription } from '../actions/cancel-subscription.ts';
import { advanceTestClock, createTestClock, removeTestClock } from '../actions/test-clocks.ts';
import type { Context } from '../context.ts';
import type { CancellationRefund } from '../domain/cancellation.ts';
import type { Subscription } from '../domain/subscription.ts';
import { invoiceMessage, subscriptionMessage, testClockMessage } from '../messages/records.ts';
import { findInvoice, findInvoices, listInvoices } from '../store/invoices.ts';
import { findSubscription, findSubscriptions, listSubscriptions } from '../store/subscriptions.ts';
import { findTestClock, listTestClocks } from '../store/test-clocks.ts';
import { accountFactHandlers } from './account-facts.ts';
import { invoicePageHandlers } from './invoice-page.ts';
import { invoiceStatementHandlers } from './invoice-statement.ts';
import { receiptHandlers } from './receipts.ts';
import { subscriptionWriteHandlers } from './subscription-writes.ts';

// Another process may have created the record; it is not announced here, so the wait polls after this.
const pollMs = 200;

/** Billing's calls. */
export function billingHandlers(context: Context): Handlers {
  const { database } = context;
  return [
    implement(BillingService, {
      ...receiptHandlers(context),
      ...invoicePageHandlers(context),
      ...invoiceStatementHandlers(context),
      ...subscriptionWriteHandlers(context),
      ...accountFactHandlers(context),
      async getSubscription({ id }, { scope }) {
        const subscription = await findSubscription(database, scope, id);
        if (subscription === undefined) throw new Failure('subscription_not_found');
        return subscriptionMessage(scope, subscription);
      },

      async batchGetSubscriptions({ ids }, { scope }) {
        const found = await findSubscriptions(database, scope, ids);
        return { subscriptions: found.map((one) => subscriptionMessage(scope, one)), hasMore: false };
      },

      async listSubscriptions({ page, customerId, status }, { scope }) {
        const { subscriptions, hasMore } = await listSubscriptions(database, scope, pageOf(page), {
          customerId,
          status,
        });
        return { subscriptions: subscriptions.map((one) => subscriptionMessage(scope, one)), hasMore };
      },

      async cancelSubscription(request, { scope }) {
        const subscription = await cancelSubscription(context, scope, request.id, {
          atPeriodEnd: request.cancelAtPeriodEnd,
          refund: refundOf(request.refund),
          refundAmountCents: request.refundAmountCents === undefined ? null : centsFromInt64(request.refundAmountCents),
        });
        return subscriptionMessage(scope, subscription);
      },

      async awaitSubscription({ subscriptionId }, call) {
        const found = await awaitSubscription(context, call, subscriptionId);
        if (found === undefined) throw new Failure('deadline_exceeded');
        return subscriptionMessage(call.scope, found);
      },

      async getInvoice({ id }, { scope }) {
        const invoice = await findInvoice(database, scope, id);
        if (invoice === undefined) throw new Failure('invoice_not_found');
        return invoiceMessage(scope, invoice);
      },

      async batchGetInvoices({ ids }, { scope }) {
        const found = await findInvoices(database, scope, ids);
        return { invoices: found.map((one) => invoiceMessage(scope, one)), hasMore: false };
      },

      async listInvoices({ page, customerId, subscriptionId, invoiceIds }, { scope }) {
        const of = { customerId, subscriptionId, ids: invoiceIds };
        const { invoices, hasMore } = await listInvoices(database, scope, pageOf(page), of);
        return { invoices: invoices.map((one) => invoiceMessage(scope, one)), hasMore };
      },

      async createTestClock({ frozenTimeMs, name }, call) {
        requireTestMode(call);
        const input = { frozenTime: new Date(Number(frozenTimeMs)), name: name ?? null };
        return testClockMessage(await createTestClock(context, call, input));
      },

      async advanceTestClock({ id, frozenTimeMs }, call) {
        requireTestMode(call);
        return testClockMessage(await advanceTestClock(context, call, id, new Date(Number(frozenTimeMs))));
      },

      async getTestClock({ id }, { scope }) {
        const clock = await findTestClock(database, scope, id);
        if (clock === undefined) throw new Failure('test_clock_not_found');
        return testClockMessage(clock);
      },

      async listTestClocks({ page }, { scope }) {
        const { clocks, hasMore } = await listTestClocks(database, scope, pageOf(page));
        return { testClocks: clocks.map((clock) => testClockMessage(clock)), hasMore };
      },

      async deleteTestClock({ id }, call) {
        requireTestMode(call);
        return testClockMessage(await removeTestClock(context, call, id), true);
      },
    }),
  ];
}

async function awaitSubscription(context: Context, call: Call, id: string): Promise<Subscription | undefined> {
  while (!call.signal.aborted && call.timeoutMs() > 0) {
    const arrived = context.arrivals.next(id, Math.min(pollMs, call.timeoutMs()), call.signal);
    const found = await findSubscription(context.database, call.scope, id);
    if (found !== undefined) return found;
    await arrived;
  }
  return undefined;
}

function requireTestMode(call: Call): void {
  if (!call.scope.testMode) throw new Failure('test_mode_required');
}

function refundOf(text: string | undefined): CancellationRefund {
  switch (text) {
    case undefined:
    case 'none':
      return 'none';
    case 'full':
    case 'prorated':
    case 'custom':
      return text;
    default:
      throw Failure.invalid(['body', 'subscription', 'refund'], 'enum', 'Must be none, full, prorated or custom');
  }
}
