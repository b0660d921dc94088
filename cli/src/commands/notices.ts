import { changeNotices, type NoticeChange, type Notices, noticesAfter } from '@eligo/billing';
import type { Database } from '@eligo/postgres';
import { type Given, UsageError } from '../command.ts';
import { yesOrNo } from '../yes-or-no.ts';

/** The options about mails to customers, for the command that updates an account. */
export const noticeOptions = {
  'notice-name': { type: 'string' },
  'notice-reminder-days': { type: 'string' },
  'notice-url': { type: 'string' },
  'notice-invoices': { type: 'string' },
  'notice-authentications': { type: 'string' },
  'notice-mode': { type: 'string' },
} as const;

/** What an account mails its customers in a mode. */
export interface NoticesOfMode extends Notices {
  readonly mode: 'test' | 'live';
}

/** What a command changes of the mails of an account, in both modes unless one is given. */
export interface NoticeUpdate {
  readonly change: NoticeChange;
  readonly modes: readonly NoticesOfMode['mode'][];
}

/** The change that these options ask for; undefined for none. */
export function noticeUpdateOf(given: Given): NoticeUpdate | undefined {
  const change = changeOf(given);
  const modes = modesOf(given.text('notice-mode'));
  if (Object.values(change).some((value) => value !== undefined)) return { change, modes };
  if (given.text('notice-mode') === undefined) return undefined;
  throw new UsageError('--notice-mode requires another --notice option');
}

/** Throws what the update would throw. */
export async function checkNotices(billing: Database, accountId: string, { change, modes }: NoticeUpdate) {
  for (const mode of modes) await noticesAfter(billing, { accountId, testMode: mode === 'test' }, change);
}

/** Changes what an account mails its customers. */
export async function updateNotices(
  billing: Database,
  accountId: string,
  { change, modes }: NoticeUpdate,
): Promise<NoticesOfMode[]> {
  const changed: NoticesOfMode[] = [];
  for (const mode of modes) {
    changed.push({ mode, ...(await changeNotices(billing, { accountId, testMode: mode === 'test' }, change)) });
  }
  return changed;
}

/** The settings of a mode on one line. */
export function noticeLine({ mode, notices, mailsAuthentications }: NoticesOfMode): string {
  const confirmations = `${mailsAuthentications ? 'payments' : 'no payments'} to confirm`;
  if (notices === null) return `${mode} mode mails ${mailsAuthentications ? confirmations : 'no notices'}`;
  const { merchantName, reminderDays, manageUrl, mailsInvoices } = notices;
  const reminders = reminderDays === null ? 'no reminders' : `reminders ${reminderDays} days before`;
  return `${mode} mode mails notices as ${merchantName}, ${reminders}, ${mailsInvoices ? 'paid invoices' : 'no paid invoices'}, ${confirmations}, ${manageUrl ?? 'no URL'}`;
}

function changeOf(given: Given): NoticeChange {
  const orNone = (name: string) => (given.text(name) === 'none' ? null : given.text(name));
  const days = orNone('notice-reminder-days');
  if (typeof days === 'string' && !/^\d{1,2}$/.test(days)) {
    throw new UsageError('--notice-reminder-days must be 1 to 60 days or none');
  }
  return {
    merchantName: orNone('notice-name'),
    reminderDays: typeof days === 'string' ? Number(days) : days,
    manageUrl: orNone('notice-url'),
    mailsInvoices: yesOrNo(given, 'notice-invoices'),
    mailsAuthentications: yesOrNo(given, 'notice-authentications'),
  };
}

function modesOf(text: string | undefined): ('test' | 'live')[] {
  if (text === undefined) return ['test', 'live'];
  if (text === 'test' || text === 'live') return [text];
  throw new UsageError('--notice-mode must be test or live');
}
