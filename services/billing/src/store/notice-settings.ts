import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** What an account and mode mails its customers. One without settings mails nothing. */
export interface NoticeSettings {
  /** The shop as its customers know it. */
  readonly merchantName: string;
  /** How many days before the end of a trial or a year the customer is mailed; null: never. */
  readonly reminderDays: number | null;
  /** Where customers change their card or cancel. */
  readonly manageUrl: string | null;
  /** Whether the customer is mailed each invoice that was paid. */
  readonly mailsInvoices: boolean;
}

/** The settings of an account and mode, if it mails its customers. */
export async function findNoticeSettings(db: Db, scope: Scope): Promise<NoticeSettings | undefined> {
  const row = await db.row(select, scope);
  if (row === undefined) return undefined;
  const { merchant_name: merchantName, reminder_days: reminderDays, manage_url: manageUrl } = row;
  return { merchantName, reminderDays, manageUrl, mailsInvoices: row.mails_invoices };
}

/** Replaces the settings. */
export async function saveNoticeSettings(tx: Tx, scope: Scope, settings: NoticeSettings): Promise<void> {
  const { merchantName, reminderDays, manageUrl, mailsInvoices } = settings;
  await tx.execute(upsert, scope, [merchantName, reminderDays, manageUrl, mailsInvoices]);
}

/** Turns the mails of an account and mode off: those that wait are dropped when their turn comes. */
export async function removeNoticeSettings(tx: Tx, scope: Scope): Promise<void> {
  await tx.execute(remove, scope);
}

const select = scoped<{
  merchant_name: string;
  reminder_days: number | null;
  manage_url: string | null;
  mails_invoices: boolean;
}>(
  'notice_settings.find',
  'select merchant_name, reminder_days, manage_url, mails_invoices from notice_settings where account_id = $1 and test_mode = $2',
);
const upsert = scoped(
  'notice_settings.save',
  `insert into notice_settings (account_id, test_mode, merchant_name, reminder_days, manage_url, mails_invoices) values ($1, $2, $3, $4, $5, $6)
   on conflict (account_id, test_mode) do update
     set merchant_name = excluded.merchant_name, reminder_days = excluded.reminder_days, manage_url = excluded.manage_url,
       mails_invoices = excluded.mails_invoices, updated_at = now()`,
);
const remove = scoped('notice_settings.delete', 'delete from notice_settings where account_id = $1 and test_mode = $2');
