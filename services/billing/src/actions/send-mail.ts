import type { Mail, MailOutcome } from '@eligo/mail';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { pauseAfterTryMs } from '../domain/mail-tries.ts';
import type { ClaimedMail, MailQueue, MailRecord } from '../store/mail-queue.ts';

/** A mail that is not sent: `dropped` since there is nothing to say any more, `given_up` as one that failed, `postponed` to a later try. */
export interface Withheld {
  readonly kind: 'dropped' | 'given_up' | 'postponed';
  readonly code: string;
}

/** Mails of one kind: where they wait, and what one says. */
export interface MailKind {
  readonly queue: MailQueue;
  compose(context: Context, scope: Scope, mail: ClaimedMail): Promise<Omit<Mail, 'id'> | Withheld>;
}

/** Longer than a mailer takes with its server (10 s for each step), so that two processes do not send one mail at the same time. */
const leaseMs = 120_000;

/**
 * Sends the mail of an account that is due longest. A crash after the server has taken it and before that is recorded sends it again, under the same
 * Message-ID. Returns false if none is due.
 */
export async function sendMail(context: Context, kind: MailKind, scope: Scope): Promise<boolean> {
  const { database, logger, mailer } = context;
  const mail = await withTx(database, scope, (tx) => kind.queue.claim(tx, scope, leaseMs));
  if (mail === undefined) return false;
  const record = recordOf(await send(context, kind, scope, mail), mail.tries);
  await context.failpoint('mail.sent');
  if (record.status === 'failed' || record.status === 'pending') {
    const { id: mailId, subjectId, tries } = mail;
    const message = record.status === 'failed' ? 'Gave up sending a mail' : 'Failed to send a mail; will retry';
    logger.warn({ mailId, subjectId, tries, code: record.code, configured: mailer.isConfigured }, message);
  }
  await withTx(database, scope, (tx) => kind.queue.record(tx, scope, mail, record));
  return true;
}

async function send(
  context: Context,
  kind: MailKind,
  scope: Scope,
  mail: ClaimedMail,
): Promise<MailOutcome | Withheld> {
  let composed: Omit<Mail, 'id'> | Withheld;
  try {
    composed = await kind.compose(context, scope, mail);
  } catch (error) {
    // Counted as a try: one that can never be composed must end.
    context.logger.error({ err: error, mailId: mail.id }, 'Failed to compose a mail; will retry');
    return { kind: 'postponed', code: 'not_composed' };
  }
  return 'kind' in composed ? composed : context.mailer.send({ id: mail.id, ...composed });
}

function recordOf(outcome: MailOutcome | Withheld, tries: number): MailRecord {
  if (outcome.kind === 'sent') return { status: 'sent' };
  if (outcome.kind === 'dropped') return { status: 'dropped', code: outcome.code };
  if (outcome.kind === 'given_up') return { status: 'failed', code: outcome.code };
  const pauseMs = outcome.kind === 'rejected' ? undefined : pauseAfterTryMs(tries);
  return pauseMs === undefined
    ? { status: 'failed', code: outcome.code }
    : { status: 'pending', code: outcome.code, pauseMs };
}
