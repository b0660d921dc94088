import type { Db, Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { failureNoticeHtml, failureNoticeSubject } from '../documents/failure-notice-html.ts';
import { afterFailure, failureReason } from '../domain/failure-notice.ts';
import type { Invoice } from '../domain/invoice.ts';
import { amountsLeft } from '../domain/payment-shares.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findAuthenticationNotices } from '../store/authentication-notices.ts';
import { findDunning } from '../store/dunning-settings.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import type { ClaimedMail } from '../store/mail-queue.ts';
import { findNotice, noticeMails } from '../store/notice-mails.ts';
import { findNoticeSettings } from '../store/notice-settings.ts';
import { nameOnReceipts } from '../store/receipts.ts';
import { findShopName } from '../store/shop-names.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { findTimeZone } from '../store/time-zones.ts';
import { emailOf } from './payer.ts';
import { isPayableOnPage } from './read-invoice-page.ts';
import type { MailKind, Withheld } from './send-mail.ts';

/**
 * The mail that tells a customer that the payment of an invoice failed. It says what is so when it is sent, and goes to the address that the customer has then:
 * one that has paid, or whose invoice was given up or void, or who was deleted, is mailed nothing.
 */
export const noticeMail: MailKind = {
  queue: noticeMails,
  async compose(context: Context, scope, mail: ClaimedMail) {
    const { database } = context;
    const notice = await findNotice(database, scope, mail.id);
    if (notice === undefined) throw new Error(`Mail ${mail.id} has no notice`);
    if (notice.hasLater) return dropped('superseded');
    if (notice.isLate) return dropped('too_late');
    // Before the invoice: once a payment has ended, the invoice read after it has the outcome.
    const charges = await loadInvoiceCharges(database, scope, mail.subjectId);
    const owed = await findOwed(context, scope, mail.subjectId);
    if (owed === undefined) return dropped('not_owed');
    const { invoice, subscription, pageUrl } = owed;
    const reason = failureReason(invoice);
    const settings = await findNoticeSettings(database, scope);
    const next = afterFailure(subscription, invoice, await findDunning(database, scope));
    if (reason === 'authentication') {
      // Of a process of the release before: in test mode the customers of an account without a name are mailed nothing.
      if (settings === undefined && scope.testMode) return dropped('test_mode');
      if (settings === undefined && !notice.isMailedByDefault) return dropped('turned_off');
      if ((await findAuthenticationNotices(database, scope)) !== 'on') return dropped('opted_out');
    } else if (settings === undefined) {
      if (!notice.isMailedByDefault) return dropped('turned_off');
      // One that asked to confirm a payment, which has failed for another reason since then, or of a card in whose place there is another one.
      if (next.kind !== 'deadline') return dropped('changed');
      if ((await findAuthenticationNotices(database, scope)) !== 'on') return dropped('opted_out');
    }
    if (charges.some(({ status }) => status === 'pending') || isChargedNow(context, subscription)) {
      return { kind: 'postponed', code: 'payment_in_flight' };
    }
    const to = await emailOf(context, scope, subscription.customerId);
    if (to === undefined) return dropped('no_address');
    const content = {
      merchantName: settings?.merchantName ?? (await nameOfShop(database, scope, subscription)) ?? null,
      ...{ pageUrl, testMode: scope.testMode, reason, timeZone: await findTimeZone(database, scope) },
      dueCents: amountsLeft(invoice, charges).leftCents,
      next,
    };
    return { to, subject: failureNoticeSubject(content), html: failureNoticeHtml(content), attachments: [] };
  },
};

/** A mail that is not sent any more. */
export function dropped(code: string): Withheld {
  return { kind: 'dropped', code };
}

// What the gateway has told, else what the receipts of the subscription call it, which may be from before a change.
async function nameOfShop(db: Db, scope: Scope, { id }: Subscription): Promise<string | undefined> {
  return (await findShopName(db, scope)) ?? (await nameOnReceipts(db, scope, id));
}

async function findOwed(
  { database }: Context,
  scope: Scope,
  invoiceId: string,
): Promise<{ invoice: Invoice; subscription: Subscription; pageUrl: string } | undefined> {
  const invoice = await findInvoice(database, scope, invoiceId);
  if (invoice?.subscriptionId == null || invoice.pageUrl === null) return undefined;
  const subscription = await findSubscription(database, scope, invoice.subscriptionId);
  if (subscription === undefined || !isPayableOnPage(invoice, subscription)) return undefined;
  return { invoice, subscription, pageUrl: invoice.pageUrl };
}

// By the wall clock: what lives on a test clock is charged when the clock is advanced.
function isChargedNow({ clock }: Context, { testClockId, paymentAt }: Subscription): boolean {
  return testClockId === null && paymentAt !== null && paymentAt <= clock.now();
}
