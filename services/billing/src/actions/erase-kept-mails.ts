import { deleteKeptMail, keptMails } from '@eligo/mail';
import type { Database, Scope } from '@eligo/postgres';
import { mailsOfPerson } from '../store/mails-of-person.ts';

/**
 * Deletes the files of mails in a folder that went to a customer, or to a guest where it is null: those about subscriptions and invoices, and those of the receipts of sessions that are erased.
 * Answers how many. `database` is open as a role that row-level security does not bind. Safe to repeat.
 */
export async function eraseKeptMails(
  database: Database,
  scope: Scope,
  { customerId, folder }: { readonly customerId: string | null; readonly folder: string },
): Promise<number> {
  let deleted = 0;
  // The folder of a development stack: its names fit into memory.
  const kept = keptMails(folder);
  for (let from = 0; from < kept.length; from += mailsOfPage) {
    const theirs = await mailsOfPerson(database, scope, customerId, kept.slice(from, from + mailsOfPage));
    for (const id of theirs) deleteKeptMail(folder, id);
    deleted += theirs.length;
  }
  return deleted;
}

const mailsOfPage = 100;
