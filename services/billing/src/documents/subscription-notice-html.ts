import { dateInWords, dollars, zonedDateInWords } from '@eligo/values';
import type { AtPeriodEnd, PaidPeriod, SubscriptionNotice } from '../domain/subscription-notice.ts';
import { mailHtml, mailSubject } from './mail-html.ts';

/** The subject of a mail about a subscription. */
export function subscriptionNoticeSubject(notice: SubscriptionNotice): string {
  return mailSubject({ title: titleOf(notice), testMode: notice.testMode });
}

/** Its body: what happens and when, and where to change that. */
export function subscriptionNoticeHtml(notice: SubscriptionNotice): string {
  const { kind, testMode } = notice;
  const url = notice.kind === 'paid' ? notice.invoiceUrl : notice.manageUrl;
  const texts = [...textsOf(notice), ...(url === null ? [] : [whereTo[kind]])];
  return mailHtml({ title: titleOf(notice), testMode, texts, url });
}

function titleOf(notice: SubscriptionNotice): string {
  const { merchantName } = notice;
  if (notice.kind === 'ended') return `Your subscription at ${merchantName} has ended`;
  if (notice.kind === 'paid') return `Your payment to ${merchantName}`;
  const date = dateInWords(notice.at, notice.timeZone);
  return notice.kind === 'trial_end'
    ? `Your trial at ${merchantName} ends on ${date}`
    : `Your subscription at ${merchantName} renews on ${date}`;
}

function textsOf(notice: SubscriptionNotice): string[] {
  if (notice.kind === 'ended') {
    return [
      `Your subscription has ended because the payment of ${dollars(notice.unpaidCents)} failed.`,
      'No further charge is scheduled.',
    ];
  }
  if (notice.kind === 'paid') {
    const paidOn = zonedDateInWords(notice.at, notice.timeZone);
    return [`You paid ${dollars(notice.cents)} for your subscription on ${paidOn}.`, charged(notice.cards)];
  }
  const date = dateInWords(notice.at, notice.timeZone);
  const begins = notice.kind === 'trial_end' ? `Your trial ends on ${date}.` : `Your subscription renews on ${date}.`;
  return [`${begins} ${what(notice.outcome)}`];
}

function what(outcome: AtPeriodEnd): string {
  switch (outcome.kind) {
    case 'charge':
      return `${dollars(outcome.cents)} will then be charged to your ${cardsInWords(outcome.last4)}.`;
    case 'nothing_to_pay':
      return 'Nothing will be charged then.';
    case 'ends':
      return 'There is no card to charge. Without one, your subscription ends then.';
    case 'pauses':
      return 'There is no card to charge. Without one, your subscription is paused then.';
    case 'no_card':
      return `There is no card to charge for the ${dollars(outcome.cents)} that you then owe.`;
  }
}

// The health card by its kind: who asks a plan for money sees what it has paid.
function charged(cards: PaidPeriod['cards']): string {
  const parts = cards.map(({ isHealthCard, cents, last4 }) => {
    const card = isHealthCard ? 'HSA or FSA card' : 'card';
    return `${dollars(cents)} was charged to your ${card}${last4 === null ? '' : ` ending in ${last4}`}`;
  });
  return `${parts.join(', and ')}.`;
}

function cardsInWords(last4: readonly string[]): string {
  return last4.length === 1 ? `card ending in ${last4[0]}` : `cards ending in ${last4.join(' and ')}`;
}

const whereTo: Readonly<Record<SubscriptionNotice['kind'], string>> = {
  trial_end: 'To change the card, or to cancel before that, open this page:',
  renewal: 'To change the card, or to cancel before that, open this page:',
  ended: 'To subscribe again, open this page:',
  paid: 'The invoice lists each item and whether an HSA or FSA can pay for it. To view it, or to download a PDF for your plan, open this page:',
};
