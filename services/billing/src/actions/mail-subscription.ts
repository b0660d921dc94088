import type { Scope } from '@eligo/postgres';
import { cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { subscriptionNoticeHtml, subscriptionNoticeSubject } from '../documents/subscription-notice-html.ts';
import { renew } from '../domain/renewal.ts';
import type { Subscription } from '../domain/subscription.ts';
import {
  atPeriodEnd,
  goesOn,
  type NamedCards,
  type PaidPeriod,
  type UpcomingPeriod,
} from '../domain/subscription-notice.ts';
import { isBackupAgreed } from '../store/backup-agreements.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import type { ClaimedMail } from '../store/mail-queue.ts';
import { findNoticeSettings, type NoticeSettings } from '../store/notice-settings.ts';
import { pendingProrations } from '../store/prorations.ts';
import {
  findSubscriptionMail,
  type PaymentMail,
  type SubscriptionMail,
  subscriptionMails,
} from '../store/subscription-mails.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { findTimeZone } from '../store/time-zones.ts';
import { eligibilityAt } from './judge-items.ts';
import { dropped } from './mail-notice.ts';
import { cardsOfMethods, emailOf, findMethod, methodsOf } from './payer.ts';
import type { MailKind } from './send-mail.ts';

/**
 * The mail that tells a customer that a trial ends, that another year begins, that a subscription ended unpaid, or that an invoice was paid. It says what is so when it is sent, and goes to the
 * address that the customer has then: what has changed since then is mailed no more.
 */
export const subscriptionMail: MailKind = {
  queue: subscriptionMails,
  async compose(context: Context, scope, { id, subjectId }: ClaimedMail) {
    const { database } = context;
    const [settings, mail, subscription] = await Promise.all([
      findNoticeSettings(database, scope),
      findSubscriptionMail(database, scope, id),
      findSubscription(database, scope, subjectId),
    ]);
    if (mail === undefined || subscription === undefined) throw new Error(`Mail ${id} has no subscription`);
    if (settings === undefined) return dropped('turned_off');
    const { merchantName, manageUrl } = settings;
    if (!isMailed(mail.kind, settings)) return dropped('turned_off');
    const event = await eventOf(context, scope, subscription, mail);
    if (event === undefined) return dropped('changed');
    const to = await emailOf(context, scope, subscription.customerId);
    if (to === undefined) return dropped('no_address');
    const timeZone = await findTimeZone(database, scope);
    const notice = { merchantName, manageUrl, testMode: scope.testMode, timeZone, ...event };
    return { to, subject: subscriptionNoticeSubject(notice), html: subscriptionNoticeHtml(notice), attachments: [] };
  },
};

function isMailed(kind: (SubscriptionMail | PaymentMail)['kind'], settings: NoticeSettings): boolean {
  if (kind === 'paid') return settings.mailsInvoices;
  return kind === 'ended' || settings.reminderDays !== null;
}

function eventOf(context: Context, scope: Scope, subscription: Subscription, mail: SubscriptionMail | PaymentMail) {
  if (mail.kind === 'paid') return paymentOf(context, scope, mail.invoiceId);
  if (mail.kind === 'ended') return endOf(context, scope, subscription);
  return upcomingPeriod(context, scope, subscription, mail.kind, mail.about);
}

async function paymentOf(context: Context, scope: Scope, invoiceId: string): Promise<PaidPeriod | undefined> {
  const invoice = await findInvoice(context.database, scope, invoiceId);
  if (invoice === undefined || invoice.paidAt === null) return undefined;
  const charges = await loadInvoiceCharges(context.database, scope, invoiceId);
  const cards = charges
    .filter(({ status }) => status === 'succeeded')
    .map(async ({ amountCents, paymentMethodId }) => {
      const card = (await findMethod(context, scope, paymentMethodId))?.card;
      return { isHealthCard: card?.hsaFsa === true, cents: amountCents, last4: card?.last4 ?? null };
    });
  const { paidAt: at, totalCents, pageUrl: invoiceUrl } = invoice;
  return { kind: 'paid', at, cents: totalCents, cards: await Promise.all(cards), invoiceUrl };
}

// The partner may have collected it, or voided the invoice, since then.
async function endOf({ database }: Context, scope: Scope, { status, latestInvoiceId }: Subscription) {
  const invoice = status === 'canceled' ? await findInvoice(database, scope, latestInvoiceId ?? '') : undefined;
  if (invoice?.status !== 'uncollectible') return undefined;
  return { kind: 'ended' as const, unpaidCents: cents(invoice.totalCents - invoice.amountPaidCents) };
}

async function upcomingPeriod(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  kind: UpcomingPeriod['kind'],
  about: Date,
): Promise<UpcomingPeriod | undefined> {
  const { currentPeriodEnd: at, status, testClockId } = subscription;
  const isNext = at.getTime() === about.getTime() && (status === 'trialing') === (kind === 'trial_end');
  if (!isNext || !goesOn(subscription)) return undefined;
  // By the wall clock: what lives on a test clock renews when the clock is advanced.
  if (testClockId === null && at <= context.clock.now()) return undefined;
  const [eligibility, pending, named] = await Promise.all([
    eligibilityAt(context, scope, subscription, at),
    pendingProrations(context.database, scope, subscription.id),
    namedCards(context, scope, subscription),
  ]);
  const { invoice } = renew(subscription, eligibility, pending, at);
  return { kind, at, outcome: atPeriodEnd(subscription, invoice, named) };
}

async function namedCards(context: Context, scope: Scope, of: Subscription): Promise<NamedCards> {
  const [methods, isAgreed] = await Promise.all([
    methodsOf(context, scope, of),
    isBackupAgreed(context.database, scope),
  ]);
  const cards = cardsOfMethods(of, methods);
  const there = [
    { card: cards?.standard, last4: methods.standard?.card?.last4 },
    { card: cards?.backup, last4: methods.backup?.card?.last4 },
  ];
  return {
    cards,
    isBackupAgreed: isAgreed,
    last4: there.flatMap(({ card, last4 }) => (card?.gone === null && last4 ? [last4] : [])),
  };
}
