import { type PageView, pageAuthenticationSchema, pagePaymentSchema, renderInvoicePage } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import type { InvoicePage } from '@eligo/proto/billing/v1/billing';
import type { CallOptions } from '@eligo/rpc';
import type { PageSubject } from '@eligo/service';
import { findShop } from '../accounts/find-shop.ts';
import { moneyCall } from '../http/call-budget.ts';
import type { Peers } from '../peers.ts';
import { type PageCalls, readBodyAs, withoutSecret } from './page-calls.ts';

/** What the payment page of an invoice can ask of the gateway. */
export function invoicePageCalls(parts: {
  peers: Peers;
  database: Database;
  sandboxUrl: string | undefined;
}): PageCalls {
  const { peers, database, sandboxUrl } = parts;

  async function show(page: InvoicePage, { accountId }: PageSubject, call: CallOptions): Promise<PageView> {
    const [shop, names] = await Promise.all([findShop(database, accountId), namesOf(page, call)]);
    if (shop === undefined) throw new Failure('invoice_not_found');
    return renderInvoicePage(page, names, shop, sandboxUrl);
  }

  async function namesOf({ lines }: InvoicePage, call: CallOptions): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(lines.flatMap(({ productId }) => productId ?? []))];
    if (ids.length === 0) return new Map();
    const { products } = await peers.catalog.batchGetProducts({ ids }, call);
    return new Map(products.map(({ productId, name = '' }) => [productId, name]));
  }

  return {
    async look({ id }, shop, call) {
      const page = await peers.billing.getInvoicePage({ id }, call);
      return withoutSecret(renderInvoicePage(page, await namesOf(page, call), shop, sandboxUrl));
    },
    async view(subject, call) {
      return show(await peers.billing.getInvoicePage({ id: subject.id }, call), subject, call);
    },
    async pay(subject, sent, call) {
      const { cards } = readBodyAs(pagePaymentSchema, sent);
      if (cards.length === 0) {
        throw Failure.violations([{ loc: ['body', 'cards'], msg: 'Field required', type: 'missing' }]);
      }
      const typed = cards.map((card) => ({ processorPaymentMethodId: card.payment_method, slot: card.slot }));
      const page = await peers.billing.payInvoiceOnPage({ id: subject.id, cards: typed }, moneyCall(call));
      return show(page, subject, call);
    },
    async authenticate(subject, sent, call) {
      const { give_up: giveUp = false } = readBodyAs(pageAuthenticationSchema, sent);
      const page = await peers.billing.resumeInvoicePayment({ id: subject.id, giveUp }, moneyCall(call));
      return show(page, subject, call);
    },
  };
}
