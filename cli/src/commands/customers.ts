import { eraseKeptMails, eraseReceipts } from '@eligo/billing';
import { type Erasure, eraseCustomer } from '@eligo/checkout';
import { eraseFiles } from '@eligo/gateway/files';
import type { Database, Scope } from '@eligo/postgres';
import { eraseDisputes } from '@eligo/refunds';
import { isId, systemClock } from '@eligo/values';
import { type Command, type Given, UsageError } from '../command.ts';
import { mailFolders, withEverything } from '../connect.ts';

/** The persons who buy. */
export const customerCommands: readonly Command[] = [
  {
    name: 'customers erase',
    usage: 'CUSTOMER_ID --account ACCOUNT --mode live|test --by WHO',
    summary:
      'Deletes a customer and erases what names the person, evidence of disputes with its files included. Amounts, decisions and identifiers stay. Safe to stop and repeat; each run is recorded. Uses DATABASE_URL, or the running stack. Mails that are kept as files in ELIGO_MAIL_FOLDER, and without DATABASE_URL in the folders of the running stack, are deleted.',
    options: { account: { type: 'string' }, mode: { type: 'string' }, by: { type: 'string' } },
    words: ['CUSTOMER_ID'],
    async run(given) {
      const [customerId = ''] = given.words;
      const accountId = given.needed('account');
      if (!isId('customer', customerId))
        throw new UsageError('CUSTOMER_ID must be the identifier of a customer: fcus_…');
      if (!isId('account', accountId)) throw new UsageError('--account must be the identifier of an account: facct_…');
      const scope = { accountId, testMode: modeOf(given) === 'test' };
      const requestedBy = given.needed('by').trim();
      if (requestedBy === '') throw new UsageError('--by must say who asks for it');
      const { sessions, letters, paymentMethods, ...elsewhere } = await erase(scope, { customerId, requestedBy });
      const { receipts, disputes, files, mails } = elsewhere;
      return {
        json: {
          ...{ customer_id: customerId, sessions, receipts, letter_answers: letters, payment_methods: paymentMethods },
          ...{ disputes, files, mails },
        },
        lines: [
          `${customerId} erased`,
          `${sessions} sessions, ${receipts} receipts, answers for ${letters} letters, ${paymentMethods} payment methods`,
          `evidence of ${disputes} disputes, ${files} files, ${mails === null ? 'no folder searched for kept mails' : `${mails} kept mails`}`,
        ],
      };
    },
  },
];

/** What was erased beside the records of checkout. */
interface ErasedElsewhere {
  readonly receipts: number;
  readonly disputes: number;
  readonly files: number;
  /** Null where no folder was searched. */
  readonly mails: number | null;
}

function erase(
  scope: Scope,
  request: { readonly customerId: string; readonly requestedBy: string },
): Promise<Erasure & ErasedElsewhere> {
  return withEverything('gateway', (gateway) =>
    withEverything('refunds', (refunds) =>
      withEverything('billing', (billing) =>
        withEverything('checkout', (checkout) => eraseIn({ gateway, refunds, billing, checkout }, scope, request)),
      ),
    ),
  );
}

// What others keep is erased with the page of sessions or payment intents that it is of: a run that is stopped in between does both again.
async function eraseIn(
  { gateway, refunds, billing, checkout }: Readonly<Record<'gateway' | 'refunds' | 'billing' | 'checkout', Database>>,
  scope: Scope,
  request: { readonly customerId: string; readonly requestedBy: string },
): Promise<Erasure & ErasedElsewhere> {
  const folders = mailFolders();
  let [receipts, disputes, files] = [0, 0, 0];
  const eraseElsewhere = async (sessionIds: readonly string[], paymentIntentIds: readonly string[]) => {
    receipts += await eraseReceipts(billing, scope, sessionIds);
    const erased = await eraseDisputes(refunds, scope, paymentIntentIds);
    files += await eraseFiles(gateway, scope, erased.fileIds);
    disputes += erased.disputes;
  };
  const erased = await eraseCustomer({ database: checkout, clock: systemClock, eraseElsewhere }, scope, request);
  const { customerId } = request;
  let mails = folders.length === 0 ? null : 0;
  for (const folder of folders) mails = (mails ?? 0) + (await eraseKeptMails(billing, scope, { customerId, folder }));
  return { ...erased, receipts, disputes, files, mails };
}

function modeOf(given: Given): 'live' | 'test' {
  const mode = given.needed('mode');
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test');
  return mode;
}
