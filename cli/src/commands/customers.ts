import { eraseKeptMails, eraseReceipts } from '@eligo/billing';
import { type Erasure, eraseCustomer, visitIntents } from '@eligo/checkout';
import { eraseFiles } from '@eligo/gateway/files';
import type { Database, Scope } from '@eligo/postgres';
import { eraseDisputes, findOpenDisputes, type OpenDispute } from '@eligo/refunds';
import { isId, systemClock } from '@eligo/values';
import { type Command, type Given, type Outcome, UsageError } from '../command.ts';
import { mailFolders, withEverything } from '../connect.ts';

/** The persons who buy. */
export const customerCommands: readonly Command[] = [
  {
    name: 'customers erase',
    usage: 'CUSTOMER_ID --account ACCOUNT --mode live|test --by WHO [--with-open-disputes]',
    summary:
      'Deletes a customer and erases what names the person, evidence of disputes with its files included. Amounts, decisions and identifiers stay. Erases nothing while a dispute waits for a response, and lists those, unless --with-open-disputes is given. Safe to stop and repeat; each run is recorded. Uses DATABASE_URL, or the running stack. Mails that are kept as files in ELIGO_MAIL_FOLDER, and without DATABASE_URL in the folders of the running stack, are deleted.',
    options: {
      account: { type: 'string' },
      mode: { type: 'string' },
      by: { type: 'string' },
      'with-open-disputes': { type: 'boolean' },
    },
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
      const open = given.flag('with-open-disputes') ? [] : await openDisputesOf(scope, customerId);
      if (open.length > 0) return refusal(customerId, open);
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

// The bank decides against the partner who gives no evidence in time.
async function openDisputesOf(scope: Scope, customerId: string): Promise<OpenDispute[]> {
  const found = new Map<string, OpenDispute>();
  await withEverything('refunds', (refunds) =>
    withEverything('checkout', (checkout) =>
      visitIntents(checkout, scope, customerId, async (intentIds) => {
        for (const one of await findOpenDisputes(refunds, scope, intentIds)) found.set(one.disputeId, one);
      }),
    ),
  );
  return [...found.values()];
}

function refusal(customerId: string, open: readonly OpenDispute[]): Outcome {
  const disputes = open.map(({ disputeId, dueBy }) => ({
    dispute_id: disputeId,
    due_by: dueBy?.toISOString() ?? null,
  }));
  return {
    json: { customer_id: customerId, open_disputes: disputes },
    lines: [
      `${customerId} has disputes that wait for a response; nothing was erased`,
      ...disputes.map(({ dispute_id, due_by }) => `${dispute_id} is due by ${due_by ?? 'no known date'}`),
      'Submit their evidence first, or give --with-open-disputes to erase it',
    ],
    failed: true,
  };
}

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
  let mails = folders.length === 0 ? null : 0;
  const eraseLast = async () => {
    const { customerId } = request;
    for (const folder of folders) mails = (mails ?? 0) + (await eraseKeptMails(billing, scope, { customerId, folder }));
  };
  const work = { database: checkout, clock: systemClock, eraseElsewhere, eraseLast };
  const erased = await eraseCustomer(work, scope, request);
  return { ...erased, receipts, disputes, files, mails };
}

function modeOf(given: Given): 'live' | 'test' {
  const mode = given.needed('mode');
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test');
  return mode;
}
