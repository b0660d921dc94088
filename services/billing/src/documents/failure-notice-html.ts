import { dateInWords, dollars, maximumChargeCents } from '@eligo/values';
import type { FailureNotice, FailureReason } from '../domain/failure-notice.ts';
import { mailHtml, mailSubject } from './mail-html.ts';

/** The subject of a mail about a failed payment. */
export function failureNoticeSubject({ reason, merchantName, testMode }: FailureNotice): string {
  return mailSubject({ title: titleOf(reason, merchantName), testMode });
}

/** Its body: why the payment failed, what happens next, and where to pay. */
export function failureNoticeHtml(notice: FailureNotice): string {
  const { merchantName, reason, dueCents, pageUrl, testMode } = notice;
  const payment = `the payment of ${dollars(dueCents)} for your subscription${merchantName === null ? '' : ` at ${merchantName}`}`;
  return mailHtml({
    ...{ title: titleOf(reason, merchantName), testMode, url: pageUrl },
    texts: [why[reason](payment), `${whatNext(notice)} ${toDo[reason]}`],
    note: 'If you have paid since this mail was sent, ignore it.',
  });
}

function titleOf(reason: FailureReason, merchantName: string | null): string {
  const to = merchantName === null ? '' : ` to ${merchantName}`;
  return reason === 'authentication' ? `Confirm your payment${to}` : `Your payment${to} failed`;
}

const why: Readonly<Record<FailureReason, (payment: string) => string>> = {
  authentication: (payment) => `Your bank asks you to confirm ${payment}.`,
  expired_card: (payment) => `Your card has expired. It could not be charged for ${payment}.`,
  no_card: (payment) => `There is no card to charge for ${payment}.`,
  no_second_card: (payment) => `Your HSA/FSA card cannot pay all of ${payment}, and there is no other card to charge.`,
  too_large: (payment) =>
    `No card can be charged for ${payment}, because a card is charged at most ${dollars(maximumChargeCents)} at once.`,
  declined: (payment) => `Your bank declined ${payment}.`,
};

const toDo: Readonly<Record<FailureReason, string>> = {
  authentication: 'To pay and confirm the payment with your bank, open this page and enter your card, or another one:',
  expired_card: 'To pay now with another card, open this page:',
  no_card: 'To pay now with a card, open this page:',
  no_second_card: 'To pay now, open this page:',
  too_large: 'Another card does not help. Ask the shop to change the payment. This page shows what is due:',
  declined: 'To pay now, or with another card, open this page:',
};

function whatNext({ next, reason, timeZone }: FailureNotice): string {
  if (next.kind === 'none') return 'No further charge is scheduled. The payment stays due.';
  const date = dateInWords(next.at, timeZone);
  if (reason === 'too_large' && next.kind === 'deadline') {
    return `The payment will not be tried again automatically. If the shop does not change it by ${date}, ${ends[next.endsWith]}`;
  }
  if (next.kind === 'deadline') {
    return `The card will not be charged again automatically. If nothing is paid by ${date}, ${ends[next.endsWith]}`;
  }
  const again = `The next try is on ${date}.`;
  return next.endsWith === null ? again : `${again} It is the last one: if it fails, ${ends[next.endsWith]}`;
}

const ends = {
  canceled: 'your subscription ends.',
  unpaid: 'no further charge is scheduled, and the payment stays due.',
} as const;
