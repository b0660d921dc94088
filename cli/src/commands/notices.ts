import { changeNotices, type NoticeChange, type NoticeSettings } from '@eligo/billing';
import { type Given, UsageError } from '../command.ts';
import { withComponent } from '../connect.ts';

/** The options about mails to customers, for the command that updates an account. */
export const noticeOptions = {
  'notice-name': { type: 'string' },
  'notice-reminder-days': { type: 'string' },
  'notice-url': { type: 'string' },
  'notice-mode': { type: 'string' },
} as const;

/** What an account mails its customers in a mode; null: nothing. */
export type NoticesOfMode = { readonly mode: 'test' | 'live'; readonly notices: NoticeSettings | null };

/** Changes what an account mails its customers, in both modes unless one is given; nothing without these options. */
export async function updateNotices(given: Given, accountId: string): Promise<NoticesOfMode[]> {
  const change = changeOf(given);
  const modes = modesOf(given.text('notice-mode'));
  if (Object.values(change).every((value) => value === undefined)) {
    if (given.text('notice-mode') !== undefined)
      throw new UsageError('--notice-mode goes with another --notice option');
    return [];
  }
  return withComponent('billing', async (database) => {
    const changed: NoticesOfMode[] = [];
    for (const mode of modes) {
      const notices = await changeNotices(database, { accountId, testMode: mode === 'test' }, change);
      changed.push({ mode, notices });
    }
    return changed;
  });
}

/** The settings of a mode on one line. */
export function noticeLine({ mode, notices }: NoticesOfMode): string {
  if (notices === null) return `${mode} mode mails no notices`;
  const { merchantName, reminderDays, manageUrl } = notices;
  const reminders = reminderDays === null ? 'no reminders' : `reminders ${reminderDays} days before`;
  return `${mode} mode mails notices as ${merchantName}, ${reminders}, ${manageUrl ?? 'no URL'}`;
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
  };
}

function modesOf(text: string | undefined): ('test' | 'live')[] {
  if (text === undefined) return ['test', 'live'];
  if (text === 'test' || text === 'live') return [text];
  throw new UsageError('--notice-mode must be test or live');
}
