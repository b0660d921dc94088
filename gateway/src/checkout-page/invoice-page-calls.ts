import { type PageView, pageAuthenticationSchema, pagePaymentSchema, renderInvoicePage } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import type { InvoicePage } from '@eligo/proto/billing/v1/billing';
import type { CallOptions } from '@eligo/rpc';
import { moneyCalls } from '../http/call-budget.ts';
import { isExpected } from '../http/to-failure.ts';
import type { Peers } from '../peers.ts';
import { type OpenPage, type PageCalls, readBodyAs, withoutSecret } from './page-calls.ts';

/** Short: a payment has had up to 9 s by then, and the page has its answer within 15. */
const namesWithinMs = 1_000;

/** What the payment page of an invoice can ask of the gateway. */
export function invoicePageCalls({ peers, sandboxUrl }: { peers: Peers; sandboxUrl: string | undefined }): PageCalls {
  async function show(page: InvoicePage, { shop, call }: OpenPage): Promise<PageView> {
    return renderInvoicePage(page, await namesOf(page, call), shop, sandboxUrl);
  }

  // A page without names can be paid.
  async function namesOf({ lines }: InvoicePage, call: CallOptions): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(lines.flatMap(({ productId }) => productId ?? []))];
    if (ids.length === 0) return new Map();
    try {
      const { products } = await peers.catalog.batchGetProducts({ ids }, { ...call, timeoutMs: namesWithinMs });
      return new Map(products.map(({ productId, name = '' }) => [productId, name]));
    } catch (error) {
      if (!isExpected(error)) throw error;
      return new Map();
    }
  }

  const read = ({ subject, call }: OpenPage) => peers.billing.getInvoicePage({ id: subject.id }, call);

  return {
    look: async (open) => withoutSecret(await show(await read(open), open)),
    view: async (open) => show(await read(open), open),
    async pay(open, sent) {
      const { cards } = readBodyAs(pagePaymentSchema, sent);
      if (cards.length === 0) {
        throw Failure.violations([{ loc: ['body', 'cards'], msg: 'Field required', type: 'missing' }]);
      }
      const typed = cards.map((card) => ({ processorPaymentMethodId: card.payment_method, slot: card.slot }));
      const { id } = open.subject;
      return show(
        await peers.billing.payInvoiceOnPage({ id, cards: typed }, moneyCalls(open.call, open.arrivedAtMs)),
        open,
      );
    },
    async authenticate(open, sent) {
      const { give_up: giveUp = false } = readBodyAs(pageAuthenticationSchema, sent);
      const { id } = open.subject;
      return show(
        await peers.billing.resumeInvoicePayment({ id, giveUp }, moneyCalls(open.call, open.arrivedAtMs)),
        open,
      );
    },
  };
}
