import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { pageOf, type Scope, withTx } from '@eligo/postgres';
import { type CheckoutService, PaymentLinkTermsSchema } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { createPaymentLink } from '../actions/create-payment-link.ts';
import { visitPaymentLink } from '../actions/visit-payment-link.ts';
import type { Context } from '../context.ts';
import type { PaymentLink } from '../domain/payment-link.ts';
import { paymentLinkMessage } from '../messages/payment-link.ts';
import { sessionMessage } from '../messages/session.ts';
import { changePaymentLink, findPaymentLink, listPaymentLinks } from '../store/payment-links.ts';

/** Payment links: created, read, changed, and visited. */
export function paymentLinkHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database } = context;
  return {
    createPaymentLink(request, call) {
      const { lines, active, metadata, terms = create(PaymentLinkTermsSchema) } = request;
      return createPaymentLink(context, call, { lines, active, metadata, terms }, request.idempotency);
    },

    async getPaymentLink({ id }, { scope }) {
      return message(scope, await findPaymentLink(database, scope, id));
    },

    async listPaymentLinks({ page, active }, { scope }) {
      const { paymentLinks, hasMore } = await listPaymentLinks(database, scope, pageOf(page), active);
      return { paymentLinks: paymentLinks.map((link) => message(scope, link)), hasMore };
    },

    async updatePaymentLink({ id, active = null, metadata }, { scope }) {
      const change = { active, metadata: metadata?.entries ?? null };
      return message(scope, await withTx(database, scope, (tx) => changePaymentLink(tx, scope, id, change)));
    },

    async visitPaymentLink({ id, receiptMerchantName }, call) {
      return sessionMessage(call.scope, await visitPaymentLink(context, call, id, receiptMerchantName));
    },
  };

  function message(scope: Scope, link: PaymentLink | undefined) {
    if (link === undefined) throw new Failure('payment_link_not_found');
    return paymentLinkMessage(scope, link, context.pages.urlOfLink(scope, link.id));
  }
}
