import { Failure } from '@eligo/failures';
import { type Database, type Db, type Scope, withTx } from '@eligo/postgres';
import {
  type AuthenticationNotices,
  findAuthenticationNotices,
  saveAuthenticationNotices,
} from '../store/authentication-notices.ts';
import {
  findNoticeSettings,
  type NoticeSettings,
  removeNoticeSettings,
  saveNoticeSettings,
} from '../store/notice-settings.ts';

/** What an operator changes; what is undefined stays. A null name turns all mails off, and the next name turns those on again that ask to confirm a payment, unless they were turned off on their own. */
export interface NoticeChange {
  readonly merchantName?: string | null | undefined;
  readonly reminderDays?: number | null | undefined;
  readonly manageUrl?: string | null | undefined;
  readonly mailsInvoices?: boolean | undefined;
  readonly mailsAuthentications?: boolean | undefined;
}

/** What an account and mode mails its customers. */
export interface Notices {
  /** Null: nothing beside mails that ask to confirm a payment. */
  readonly notices: NoticeSettings | null;
  /** Whether customers are mailed to confirm a payment to their bank. */
  readonly mailsAuthentications: boolean;
}

/**
 * Changes what an account and mode mails its customers, and returns what it mails now. Reminders begin with the name of the shop: a 422 says so, and what
 * is wrong with a value.
 */
export async function changeNotices(database: Database, scope: Scope, change: NoticeChange): Promise<Notices> {
  return withTx(database, scope, async (tx) => {
    const { notices, authentications } = await settingsAfter(tx, scope, change);
    if (notices === null) await removeNoticeSettings(tx, scope);
    else await saveNoticeSettings(tx, scope, notices);
    await saveAuthenticationNotices(tx, scope, authentications);
    return noticesOf(scope, { notices, authentications });
  });
}

/** What a change would make of the settings, and the same 422; changes nothing. */
export async function noticesAfter(db: Db, scope: Scope, change: NoticeChange): Promise<Notices> {
  return noticesOf(scope, await settingsAfter(db, scope, change));
}

interface Settings {
  readonly notices: NoticeSettings | null;
  readonly authentications: AuthenticationNotices;
}

// The customers of tests are mailed by an account with a name alone.
function noticesOf({ testMode }: Scope, { notices, authentications }: Settings): Notices {
  return { notices, mailsAuthentications: authentications === 'on' && (!testMode || notices !== null) };
}

async function settingsAfter(
  db: Db,
  scope: Scope,
  { mailsAuthentications, ...change }: NoticeChange,
): Promise<Settings> {
  const notices = noticeSettingsAfter(await findNoticeSettings(db, scope), change);
  if (mailsAuthentications !== undefined) return { notices, authentications: mailsAuthentications ? 'on' : 'off' };
  const before = await findAuthenticationNotices(db, scope);
  if (change.merchantName === null) return { notices, authentications: before === 'on' ? 'off_with_all' : before };
  const isNamedAgain = change.merchantName !== undefined && before === 'off_with_all';
  return { notices, authentications: isNamedAgain ? 'on' : before };
}

function noticeSettingsAfter(
  before: NoticeSettings | undefined,
  change: Omit<NoticeChange, 'mailsAuthentications'>,
): NoticeSettings | null {
  if (change.merchantName === null) return null;
  if (before === undefined && Object.values(change).every((value) => value === undefined)) return null;
  const merchantName = change.merchantName?.trim() ?? before?.merchantName;
  if (merchantName === undefined) throw Failure.invalid(['notice_name'], 'missing', 'Give the name of the shop first');
  return {
    merchantName: checkName(merchantName),
    reminderDays: checkDays(changed(change.reminderDays, before?.reminderDays ?? null)),
    manageUrl: checkUrl(changed(change.manageUrl, before?.manageUrl ?? null)),
    mailsInvoices: changed(change.mailsInvoices, before?.mailsInvoices ?? false),
  };
}

function changed<Value>(given: Value | undefined, before: Value): Value {
  return given === undefined ? before : given;
}

// It stands in the subject of mails.
function checkName(name: string): string {
  if (name.length >= 1 && name.length <= 200 && !/\p{Cc}/u.test(name)) return name;
  throw Failure.invalid(['notice_name'], 'invalid_value', 'Must be 1 to 200 characters on one line');
}

function checkDays(days: number | null): number | null {
  if (days === null || (Number.isInteger(days) && days >= 1 && days <= 60)) return days;
  throw Failure.invalid(['notice_reminder_days'], 'invalid_value', 'Must be 1 to 60 days');
}

function checkUrl(text: string | null): string | null {
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.username === '' && url.password === '' && url.href.length <= 500)
    return url.href;
  throw Failure.invalid(['notice_url'], 'invalid_url', 'Must be an https URL of at most 500 characters');
}
