import { dateInWords, dollars } from '@eligo/values';
import type { AtPeriodEnd, SubscriptionNotice } from '../domain/subscription-notice.ts';
import { escaped } from './escaped.ts';

/** The subject of a mail about a subscription. */
export function subscriptionNoticeSubject(notice: SubscriptionNotice): string {
  return `${notice.testMode ? '[Test] ' : ''}${titleOf(notice)}`;
}

/** Its body: what happens and when, and where to change that. */
export function subscriptionNoticeHtml(notice: SubscriptionNotice): string {
  const title = escaped(titleOf(notice));
  const texts = [...textsOf(notice), ...(notice.manageUrl === null ? [] : [whereTo[notice.kind]])];
  const url = escaped(notice.manageUrl ?? '');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head>
<body style="font-family:Helvetica,Arial,sans-serif;color:#1a1a1a;max-width:640px;margin:0 auto;padding:24px">
<h1 style="font-size:22px">${title}</h1>
${notice.testMode ? '<p><strong>Test mode: no money is charged.</strong></p>\n' : ''}${texts.map((text) => `<p>${escaped(text)}</p>`).join('\n')}
${notice.manageUrl === null ? '' : `<p><a href="${url}">${url}</a></p>\n`}</body></html>
`;
}

function titleOf(notice: SubscriptionNotice): string {
  const { merchantName } = notice;
  if (notice.kind === 'ended') return `Your subscription at ${merchantName} has ended`;
  const date = dateInWords(notice.at);
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
  const date = dateInWords(notice.at);
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

function cardsInWords(last4: readonly string[]): string {
  return last4.length === 1 ? `card ending in ${last4[0]}` : `cards ending in ${last4.join(' and ')}`;
}

const whereTo: Readonly<Record<SubscriptionNotice['kind'], string>> = {
  trial_end: 'To change the card, or to cancel before that, open this page:',
  renewal: 'To change the card, or to cancel before that, open this page:',
  ended: 'To subscribe again, open this page:',
};
