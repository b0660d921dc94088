import { AccountTurns, type Job } from '@eligo/service';
import { mailNoticesJob } from '../actions/add-failure-notice.ts';
import { mailSubscriptionsJob } from '../actions/announce-period-end.ts';
import { mailReceiptsJob } from '../actions/keep-receipt.ts';
import { noticeMail } from '../actions/mail-notice.ts';
import { receiptMail } from '../actions/mail-receipt.ts';
import { subscriptionMail } from '../actions/mail-subscription.ts';
import { type MailKind, sendMail } from '../actions/send-mail.ts';
import type { Context } from '../context.ts';

/** Mails receipts as they are issued. Without a server and a folder the mails wait. */
export function mailReceipts(context: Context): Job {
  return mailJob(context, mailReceiptsJob, receiptMail);
}

/** Mails customers that a payment failed, in the same way. */
export function mailNotices(context: Context): Job {
  return mailJob(context, mailNoticesJob, noticeMail);
}

/** Mails customers that a trial ends, that another year begins, or that a subscription ended unpaid. */
export function mailSubscriptions(context: Context): Job {
  return mailJob(context, mailSubscriptionsJob, subscriptionMail);
}

/** Accounts of a run, of which each has one mail sent. */
const accountsInRun = 50;
// Each is a connection to the mail server, and three jobs send mails: servers take some fifty of one client. A server that stalls holds up a run for 13 × 10 s at most.
const atOnce = 4;

function mailJob(context: Context, name: string, kind: MailKind): Job {
  const { database, mailer, logger } = context;
  const turns = new AccountTurns(
    (after) => kind.queue.due(database, after, accountsInRun),
    (scope) => sendMail(context, kind, scope),
    () => kind.queue.nextInMs(database),
    { atOnce },
  );
  return {
    name,
    // A new mail wakes the job; this finds what a crash has left.
    everyMs: 60_000,
    run: async (signal) =>
      mailer.isConfigured
        ? turns.run(signal, (err) => logger.error({ err, job: name }, 'Failed to process a mail; will retry'))
        : { dueInMs: undefined },
  };
}
