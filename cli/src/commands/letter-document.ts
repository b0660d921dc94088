import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { findAccount } from '@eligo/gateway/accounts';
import { callCheckout } from '../admin-port.ts';
import { type Command, UsageError } from '../command.ts';
import { withAccounts } from '../connect.ts';
import { letterPdf } from '../letter-pdf.ts';
import type { Json } from '../public-api.ts';
import { reviewerCredential } from '../reviewer-credential.ts';

/** The document of an approved letter, for a plan administrator. */
export const letterDocumentCommand: Command = {
  name: 'letters document',
  usage: 'LETTER_ID --file FILE',
  summary:
    'Writes an approved letter as a PDF, with the shopper’s name and answers, the reviewer and the validity. Needs ELIGO_REVIEWER_CREDENTIAL. Each call is recorded as a read. Only the owner of the file can read it, and no file is replaced.',
  readsOnly: true,
  showsAccounts: true,
  options: { file: { type: 'string' } },
  words: ['LETTER_ID'],
  async run(given) {
    const [letterId = ''] = given.words;
    const path = resolve(given.needed('file'));
    const review = await callCheckout('OpenReview', { letterId, credential: reviewerCredential() });
    const letter = review.letter as Json;
    const { reviewer } = letter as { reviewer?: { name: string; license: string; state: string } };
    if (letter.status !== 'approved') throw new UsageError(`The letter is ${letter.status}, not approved`);
    if (reviewer === undefined) throw new UsageError('The shop approved the letter in test mode; it has no reviewer');
    const account = await withAccounts((database) => findAccount(database, String(review.accountId)));
    if (account === undefined) throw new Error('The letter belongs to no account');
    const answers = typeof review.answers === 'string' ? (JSON.parse(review.answers) as Json) : {};
    const pdf = await letterPdf({
      ...{ letterId, reviewer, testMode: letter.testMode === true, timeZone: account.time_zone },
      merchantName: account.display_name ?? account.name,
      patient: typeof review.shopperName === 'string' ? review.shopperName : null,
      products: ((review.lines ?? []) as Json[]).map((line) => String(line.description ?? line.productId)),
      answers: Object.entries(answers).map(([question, answer]) => [question, String(answer)] as const),
      approvedAt: new Date(Number(letter.decidedAtMs)),
      validUntil: new Date(Number(letter.expiresAtMs)),
    });
    try {
      writeFileSync(path, pdf, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new UsageError(`${path} exists`);
      throw error;
    }
    return { json: { letter_id: letterId, file: path }, lines: [`Wrote ${path}`] };
  },
};
