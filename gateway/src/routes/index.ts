import type { Answers } from '../answers.ts';
import type { Binding } from '../bind.ts';
import type { Peers } from '../peers.ts';
import type { ReadInvoiceDocument } from '../reports/read-invoice-document.ts';
import { balanceTransactionBindings } from './balance-transactions.ts';
import { billingBindings } from './billing.ts';
import { captureBindings } from './captures.ts';
import { checkoutSessionBindings } from './checkout-sessions.ts';
import { couponBindings } from './coupons.ts';
import { customerBindings } from './customers.ts';
import { disputeBindings } from './disputes.ts';
import { eligibilityBindings } from './eligibility.ts';
import { type FileParts, fileBindings } from './files.ts';
import { invoiceDocumentBindings } from './invoice-documents.ts';
import { letterBindings } from './letters.ts';
import { paymentLinkBindings } from './payment-links.ts';
import { paymentMethodBindings } from './payment-methods.ts';
import { paymentBindings } from './payments.ts';
import { payoutBindings } from './payouts.ts';
import { priceBindings } from './prices.ts';
import { productComponentBindings } from './product-components.ts';
import { productBindings } from './products.ts';
import { promoCodeBindings } from './promo-codes.ts';
import { receiptBindings } from './receipts.ts';
import { refundBindings } from './refunds.ts';
import { reportBindings } from './reports.ts';
import { sessionCaptureBindings } from './session-captures.ts';
import { sessionRefundBindings } from './session-refunds.ts';
import { sessionTimelineBindings } from './session-timeline.ts';
import { shippingRateBindings } from './shipping-rates.ts';
import { substantiationBindings } from './substantiation.ts';
import { testHelperBindings } from './test-helpers.ts';
import { webhookBindings } from './webhooks.ts';

/** What answers each route of the contract. */
export function allBindings(
  peers: Peers,
  answers: Answers,
  files: FileParts,
  readInvoice: ReadInvoiceDocument,
): Binding[] {
  return [
    ...shippingRateBindings(peers, answers),
    ...productComponentBindings(peers, answers),
    ...productBindings(peers, answers),
    ...priceBindings(peers, answers),
    ...couponBindings(peers, answers),
    ...promoCodeBindings(peers, answers),
    ...eligibilityBindings(peers),
    ...customerBindings(peers, answers),
    ...paymentLinkBindings(peers, answers),
    ...paymentMethodBindings(peers, answers),
    ...checkoutSessionBindings(peers, answers),
    ...sessionCaptureBindings(peers, answers),
    ...sessionRefundBindings(peers, answers),
    ...substantiationBindings(peers),
    ...sessionTimelineBindings(peers),
    ...paymentBindings(peers, answers),
    ...captureBindings(peers, answers),
    ...balanceTransactionBindings(peers, answers),
    ...payoutBindings(peers, answers),
    ...reportBindings(peers),
    ...letterBindings(peers, answers),
    ...refundBindings(peers, answers),
    ...disputeBindings(peers, answers, files),
    ...billingBindings(peers, answers),
    ...invoiceDocumentBindings(readInvoice),
    ...receiptBindings(peers, answers),
    ...fileBindings(files),
    ...webhookBindings(peers, answers),
    ...testHelperBindings(peers, answers),
  ];
}
