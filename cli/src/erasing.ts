import { eraseKeptMails, eraseReceipts, eraseSoldMetadata } from '@eligo/billing';
import type { ErasureWork } from '@eligo/checkout';
import { eraseFiles } from '@eligo/gateway/files';
import type { Database, Scope } from '@eligo/postgres';
import { eraseDisputes, findOpenDisputes, type OpenDispute } from '@eligo/refunds';
import { isId, systemClock } from '@eligo/values';
import { type Given, type Outcome, UsageError } from './command.ts';
import { mailFolders, withEverything } from './connect.ts';

/** The options of every command that erases a person. */
export interface GivenErasure {
  readonly scope: Scope;
  readonly requestedBy: string;
  readonly withOpenDisputes: boolean;
}

/** Reads the options of a command that erases a person. Throws `UsageError` for a missing or wrong one. */
export function readErasure(given: Given): GivenErasure {
  const accountId = given.needed('account');
  if (!isId('account', accountId)) throw new UsageError('--account must be the identifier of an account: facct_…');
  const scope = { accountId, testMode: modeOf(given) === 'test' };
  const requestedBy = given.needed('by').trim();
  if (requestedBy === '') throw new UsageError('--by must say who asks for it');
  return { scope, requestedBy, withOpenDisputes: given.flag('with-open-disputes') };
}

/** Finds the disputes of a person's payment intents that wait for a response: the bank decides against a partner that submits no evidence in time. Finds none if they do not matter (`isAllowed`). */
export async function openDisputesAmong(
  scope: Scope,
  isAllowed: boolean,
  visitIntents: (checkout: Database, visit: (intentIds: readonly string[]) => Promise<void>) => Promise<void>,
): Promise<OpenDispute[]> {
  if (isAllowed) return [];
  const found = new Map<string, OpenDispute>();
  await withEverything('refunds', (refunds) =>
    withEverything('checkout', (checkout) =>
      visitIntents(checkout, async (intentIds) => {
        for (const one of await findOpenDisputes(refunds, scope, intentIds)) found.set(one.disputeId, one);
      }),
    ),
  );
  return [...found.values()];
}

/** The outcome of a command that erased nothing of `subject`, because these disputes wait for a response. */
export function refusalOf(key: 'customer_id' | 'guest', subject: string, open: readonly OpenDispute[]): Outcome {
  const disputes = open.map(({ disputeId, dueBy }) => ({
    dispute_id: disputeId,
    due_by: dueBy?.toISOString() ?? null,
  }));
  return {
    json: { [key]: subject, open_disputes: disputes },
    lines: [
      `${subject} has disputes that wait for a response; nothing was erased`,
      ...disputes.map(({ dispute_id, due_by }) => `${dispute_id} is due by ${due_by ?? 'no known date'}`),
      'Submit their evidence first, or give --with-open-disputes to erase it',
    ],
    failed: true,
  };
}

/** What was erased beside the records of checkout. */
export interface ErasedElsewhere {
  readonly receipts: number;
  readonly disputes: number;
  readonly files: number;
  /** Null where no folder was searched. */
  readonly mails: number | null;
}

/** What was erased beside receipts, in words for the operator. */
export function wordsOf({ disputes, files, mails }: Omit<ErasedElsewhere, 'receipts'>): string {
  const kept = mails === null ? 'no folder searched for kept mails' : `${mails} kept mails`;
  return `evidence of ${disputes} disputes, ${files} files, ${kept}`;
}

/** Erases a person in every schema. `customerId` is null for a guest. */
export function eraseEverywhere<Erased>(
  scope: Scope,
  customerId: string | null,
  erase: (work: ErasureWork) => Promise<Erased>,
): Promise<Erased & ErasedElsewhere> {
  return withEverything('gateway', (gateway) =>
    withEverything('refunds', (refunds) =>
      withEverything('billing', (billing) =>
        withEverything('checkout', async (checkout) => {
          const elsewhere = elsewhereOf({ gateway, refunds, billing }, scope, customerId);
          const erased = await erase({ database: checkout, clock: systemClock, ...elsewhere.work });
          return { ...erased, ...elsewhere.erased() };
        }),
      ),
    ),
  );
}

// What others keep is erased with the page of sessions or payment intents that it is of: a run that is stopped in between does both again.
function elsewhereOf(
  { gateway, refunds, billing }: Readonly<Record<'gateway' | 'refunds' | 'billing', Database>>,
  scope: Scope,
  customerId: string | null,
): { work: Pick<ErasureWork, 'eraseElsewhere' | 'eraseLast'>; erased: () => ErasedElsewhere } {
  const folders = mailFolders();
  let [receipts, disputes, files] = [0, 0, 0];
  let mails = folders.length === 0 ? null : 0;
  return {
    work: {
      async eraseElsewhere(sessionIds, paymentIntentIds) {
        receipts += await eraseReceipts(billing, scope, sessionIds);
        await eraseSoldMetadata(billing, scope, sessionIds);
        const erased = await eraseDisputes(refunds, scope, paymentIntentIds);
        files += await eraseFiles(gateway, scope, erased.fileIds);
        disputes += erased.disputes;
      },
      async eraseLast() {
        for (const folder of folders) {
          mails = (mails ?? 0) + (await eraseKeptMails(billing, scope, { customerId, folder }));
        }
      },
    },
    erased: () => ({ receipts, disputes, files, mails }),
  };
}

function modeOf(given: Given): 'live' | 'test' {
  const mode = given.needed('mode');
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test');
  return mode;
}
