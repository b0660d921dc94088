import { Failure } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import type { InvoiceStatement } from '@eligo/proto/billing/v1/billing';
import type { CallOptions } from '@eligo/rpc';
import { findAccountOfPage } from '../accounts/find-account-of-page.ts';
import type { Peers } from '../peers.ts';
import { type InvoiceDocument, invoiceDocument } from './invoice-document.ts';
import { soldByASession } from './invoice-of-session.ts';

/** Collects what the documents of an invoice say. */
export type ReadInvoiceDocument = (accountId: string, id: string, call: CallOptions) => Promise<InvoiceDocument>;

/** An invoice as billing has it, with the names of its products, its cards, and what was refunded to them. */
export function readInvoiceDocument({ peers, database }: { peers: Peers; database: Database }): ReadInvoiceDocument {
  const { billing, checkout, catalog } = peers;

  async function namesOf(ids: readonly string[], call: CallOptions): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const { products } = await catalog.batchGetProducts({ ids: [...new Set(ids)] }, call);
    return new Map(products.map(({ productId, name = '' }) => [productId, name]));
  }

  // The session of one that costs nothing, at the beginning of a trial, says what is charged later.
  async function proofOf({ checkoutSessionId, invoice }: InvoiceStatement, call: CallOptions) {
    if (checkoutSessionId === undefined || invoice === undefined || invoice.totalCents === 0n) return undefined;
    return checkout.getSubstantiation({ id: checkoutSessionId }, call);
  }

  return async (accountId, id, call) => {
    const [statement, account] = await Promise.all([
      billing.getInvoiceStatement({ id }, call),
      findAccountOfPage(database, accountId),
    ]);
    if (account === undefined || statement.invoice === undefined) throw new Failure('invoice_not_found');
    const proof = await proofOf(statement, call);
    const payments = proof?.payments.map(({ charge }) => charge?.paymentIntentId);
    const intents = (payments ?? statement.payments.map(({ paymentIntentId }) => paymentIntentId)).flatMap(
      (intent) => intent ?? [],
    );
    const productIds = [
      ...statement.lines.flatMap(({ productId }) => productId ?? []),
      ...statement.credits.flatMap(({ productId }) => productId ?? []),
      ...(proof?.lines.flatMap(({ line }) => line?.productId ?? []) ?? []),
    ];
    const [customers, names, refunds] = await Promise.all([
      checkout.batchGetCustomers({ ids: [statement.invoice.customerId] }, call),
      namesOf(productIds, call),
      Promise.all(
        intents.map((paymentIntentId) =>
          peers.refunds.listRefunds({ page: { limit: mostRefunds }, paymentIntentId }, call),
        ),
      ),
    ]);
    const listed = new Map(refunds.flatMap((page) => page.refunds.map((refund) => [refund.refundId, refund])));
    const cardIds = new Set([
      ...statement.payments.map(({ paymentMethodId }) => paymentMethodId),
      ...(proof?.payments.flatMap(({ paymentMethod }) => paymentMethod?.paymentMethodId ?? []) ?? []),
      ...[...listed.values()].flatMap(({ items }) => items.map(({ paymentMethodId }) => paymentMethodId)),
    ]);
    const ids = [...cardIds].filter((cardId) => cardId !== '');
    const methods = ids.length === 0 ? [] : (await checkout.batchGetPaymentMethods({ ids }, call)).paymentMethods;
    const [customer] = customers.customers;
    return invoiceDocument({
      statement,
      merchantName: account.shop.name,
      timeZone: statement.timeZone ?? 'UTC',
      customerName: [customer?.firstName, customer?.lastName].filter(Boolean).join(' ') || null,
      names,
      cards: new Map(methods.map((method) => [method.paymentMethodId, method])),
      refunds: [...listed.values()],
      hasMoreRefunds: refunds.some(({ hasMore }) => hasMore),
      session: proof && soldByASession(proof, names),
    });
  };
}

// Of each card; a longer list is said to be longer.
const mostRefunds = 100n;
