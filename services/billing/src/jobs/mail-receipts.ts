import type { Job } from '@eligo/service';
import { mailReceiptsJob } from '../actions/issue-receipt.ts';
import { mailReceipt } from '../actions/mail-receipt.ts';
import type { Context } from '../context.ts';
import { dueMails, nextMailAt } from '../store/receipt-mails.ts';

/** Mails that one run finds: a server that stalls holds up a run for 50 × 10 s at most. */
const mostAtOnce = 50;

/** Mails receipts as they are issued. Without a server and a folder the mails wait. */
export function mailReceipts(work: Context): Job {
  return {
    name: mailReceiptsJob,
    // A new mail wakes the job; this finds what a crash has left.
    everyMs: 60_000,
    run: async (signal) => (await runDueMails(work, signal)) || { dueInMs: await nextInMs(work) },
  };
}

/** Sends the due mails. True when there may be more. */
export async function runDueMails(work: Context, signal?: AbortSignal): Promise<boolean> {
  if (!work.mailer.isConfigured) return false;
  const found = await dueMails(work.database, mostAtOnce);
  for (const { scope, id } of found) {
    if (signal?.aborted) return false;
    try {
      await mailReceipt(work, scope, id);
    } catch (error) {
      // One that fails must not keep those behind it from being sent. Its lease postpones it.
      work.logger.error({ err: error, mailId: id }, 'Failed to process a receipt mail; will retry');
    }
  }
  return found.length === mostAtOnce;
}

async function nextInMs({ database, mailer }: Context): Promise<number | undefined> {
  if (!mailer.isConfigured) return undefined;
  const at = await nextMailAt(database);
  return at && at.getTime() - Date.now();
}
