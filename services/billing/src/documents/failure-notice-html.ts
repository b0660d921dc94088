import { dateInWords, dollars } from '@eligo/values';
import type { AfterFailure, FailureNotice, FailureReason } from '../domain/failure-notice.ts';
import { escaped } from './escaped.ts';

/** The subject of a mail about a failed payment. */
export function failureNoticeSubject({ reason, merchantName, testMode }: FailureNotice): string {
  return `${testMode ? '[Test] ' : ''}${titleOf(reason, merchantName)}`;
}

/** Its body: why the payment failed, what happens next, and where to pay. */
export function failureNoticeHtml({ merchantName, reason, dueCents, pageUrl, next, testMode }: FailureNotice): string {
  const title = escaped(titleOf(reason, merchantName));
  const payment = `the payment of ${dollars(dueCents)} for your subscription at ${merchantName}`;
  const url = escaped(pageUrl);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head>
<body style="font-family:Helvetica,Arial,sans-serif;color:#1a1a1a;max-width:640px;margin:0 auto;padding:24px">
<h1 style="font-size:22px">${title}</h1>
${testMode ? '<p><strong>Test mode: no money is charged.</strong></p>\n' : ''}<p>${escaped(why[reason](payment))}</p>
<p>${escaped(`${whatNext(next)} ${toDo[reason]}`)}</p>
<p><a href="${url}">${url}</a></p>
<p style="color:#555;font-size:13px">If you have paid since this mail was sent, ignore it.</p>
</body></html>
`;
}

function titleOf(reason: FailureReason, merchantName: string): string {
  return reason === 'authentication'
    ? `Confirm your payment to ${merchantName}`
    : `Your payment to ${merchantName} failed`;
}

const why: Readonly<Record<FailureReason, (payment: string) => string>> = {
  authentication: (payment) => `Your bank asks you to confirm ${payment}.`,
  expired_card: (payment) => `Your card has expired. It could not be charged for ${payment}.`,
  no_card: (payment) => `There is no card to charge for ${payment}.`,
  no_second_card: (payment) => `Your HSA/FSA card cannot pay all of ${payment}, and there is no other card to charge.`,
  declined: (payment) => `Your bank declined ${payment}.`,
};

const toDo: Readonly<Record<FailureReason, string>> = {
  authentication: 'To confirm the payment, or to pay with another card, open this page:',
  expired_card: 'To pay now with another card, open this page:',
  no_card: 'To pay now with a card, open this page:',
  no_second_card: 'To pay now, open this page:',
  declined: 'To pay now, or with another card, open this page:',
};

function whatNext(next: AfterFailure): string {
  if (next.kind === 'none') return 'No further charge is scheduled. The payment stays due.';
  const date = dateInWords(next.at);
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
