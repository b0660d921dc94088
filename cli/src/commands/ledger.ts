import { openDatabase } from '@eligo/postgres';
import { openProcessors, type Processors, readProcessorEnvironment } from '@eligo/processor';
import { readEnvironment } from '@eligo/service';
import { isId } from '@eligo/values';
import { type Command, type Given, type Outcome, UsageError } from '../command.ts';
import { checkAccess, withEverything } from '../connect.ts';
import { openBooks } from '../ledger/check-books.ts';
import { lookAtLedger } from '../ledger/check-ledger.ts';
import { lookAtProcessor, type ProcessorCheck } from '../ledger/check-processor.ts';
import { type Findings, lookTwice } from '../ledger/findings.ts';
import { accountsBesideSuspense, moveFromSuspense } from '../ledger/move-from-suspense.ts';
import { renameCharges, repairLedger } from '../ledger/repair-ledger.ts';
import { rereadMovements } from '../ledger/reread-movements.ts';
import { listOfSandbox, type Sandbox } from '../ledger/sandbox-list.ts';
import { progressOf } from '../ledger/tell-progress.ts';
import { operatorName } from '../recorded-command.ts';
import { runningStack } from '../running-stack.ts';
import { variable } from '../variable.ts';

/** The books. */
export const ledgerCommands: readonly Command[] = [
  {
    name: 'ledger check',
    usage: '[--processor [--from DAY]]',
    summary:
      'Compares records, journals, the ledger, events, the processors’ listed movements and the sandbox’s list to the cent. With --processor also the list that each processor gives now, from behind the last day that was compared, or from a UTC day on. Exits with 1 if anything is wrong, and with 3 if not everything could be compared. Uses DATABASE_URL, ELIGO_SANDBOX_URL, ELIGO_SANDBOX_KEY and the variables of Stripe, or the running stack.',
    readsOnly: true,
    // It notes the days that it compared.
    writesWith: 'processor',
    options: { processor: { type: 'boolean' }, from: { type: 'string' } },
    run: check,
  },
  {
    name: 'ledger reread',
    usage: '--from DAY [--to DAY] [--account ACCOUNT]',
    summary:
      'Reads the movements that each processor lists of these UTC days again, and stores those that are missing; the services post them within minutes. Changes nothing that is stored. Uses DATABASE_URL, ELIGO_SANDBOX_URL, ELIGO_SANDBOX_KEY and the variables of Stripe, or the running stack.',
    options: { from: { type: 'string' }, to: { type: 'string' }, account: { type: 'string' } },
    run: reread,
  },
  {
    name: 'ledger move',
    usage: 'MOVEMENT --account ACCOUNT --mode live|test --to LEDGER_ACCOUNT --amount CENTS --reason TEXT',
    summary:
      'Moves an amount of a movement out of suspense to another account of the ledger, by a transaction of its own that names the reason. Changes nothing that is posted. Uses DATABASE_URL, or the running stack.',
    options: {
      ...{ account: { type: 'string' }, mode: { type: 'string' }, to: { type: 'string' } },
      ...{ amount: { type: 'string' }, reason: { type: 'string' } },
    },
    words: ['MOVEMENT'],
    run: move,
  },
  {
    name: 'ledger repair',
    usage: '',
    summary:
      'Gives each card’s part of a refund or capture its own balance transaction, where an earlier release that ran during an upgrade posted it on another card’s. Changes no amount. Uses DATABASE_URL, or the running stack.',
    options: {},
    run: repair,
  },
];

async function repair(): Promise<Outcome> {
  const { refunds, captures } = await withEverything('refunds', repairLedger);
  const charges = await withEverything('checkout', renameCharges);
  return {
    json: { refunds, captures, charges },
    lines: [`${refunds} refunds, ${captures} captures and ${charges} charges repaired; run ledger check`],
  };
}

async function move(given: Given): Promise<Outcome> {
  const [movementId = ''] = given.words;
  const accountId = given.needed('account');
  const mode = given.needed('mode');
  const toAccount = given.needed('to');
  const amount = given.needed('amount');
  const reason = given.needed('reason').trim();
  if (!isId('account', accountId)) throw new UsageError('--account must be the identifier of an account: facct_…');
  if (mode !== 'live' && mode !== 'test') throw new UsageError('--mode must be live or test');
  if (!accountsBesideSuspense.some((name) => name === toAccount)) {
    throw new UsageError(`--to must be one of ${accountsBesideSuspense.join(', ')}`);
  }
  if (!/^[1-9]\d{0,11}$/.test(amount)) throw new UsageError('--amount must be cents, more than 0');
  if (reason === '' || reason.length > 500) throw new UsageError('--reason must say why, in at most 500 characters');
  const scope = { accountId, testMode: mode === 'test' };
  const asked = { movementId, toAccount, amountCents: Number(amount), reason, movedBy: operatorName() };
  const { transactionId, leftCents } = await withEverything('refunds', (database) =>
    moveFromSuspense(database, scope, asked),
  );
  return {
    json: { ledger_transaction_id: transactionId, left_in_suspense: leftCents },
    lines: [
      `${amount} cents of ${movementId} moved to ${toAccount} by ${transactionId}; ${leftCents} left in suspense`,
    ],
  };
}

/** The longest call to the processor is over by then, and what it did is recorded. */
const betweenLooksMs = 8_000;
/** Each statement reads a range of rows, and has this for it. */
const statementTimeoutMs = 30_000;

interface Looked {
  readonly findings: Findings;
  /** Whether there was a list of the sandbox to compare with. */
  readonly compared: boolean;
  /** What the processors listed. */
  readonly listed: Omit<ProcessorCheck, 'faults'> | undefined;
}

async function check(given: Given): Promise<Outcome> {
  const from = given.text('from');
  const asks = given.flag('processor');
  if (from !== undefined && !asks) throw new UsageError('--from needs --processor');
  if (from !== undefined) dayOf(from, '--from');
  return outcomeOf(await compare(given, asks ? { from } : undefined));
}

function dayOf(text: string, option: string): number {
  const at = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || !Number.isFinite(at)) {
    throw new UsageError(`${option} must be a day in UTC: 2026-11-23`);
  }
  return at;
}

async function compare(given: Given, range: { readonly from: string | undefined } | undefined): Promise<Looked> {
  const { databaseUrl, sandbox } = place();
  const url = databaseUrl;
  // The schemas that it reads; what it notes is in refunds.
  for (const component of ['checkout', 'refunds'] as const) await checkAccess(component);
  const database = openDatabase({ url, applicationName: 'eligo ledger check', max: 1, statementTimeoutMs });
  const processors = range && processorsHere(sandbox);
  const onRange = progressOf(given.sayAside);
  let listed: Looked['listed'];
  try {
    const books = await openBooks(database, sandbox && listOfSandbox(sandbox));
    try {
      const look = async (findings: Findings) => {
        await books.look(findings, { onRange });
        await lookAtLedger(database, findings, { onRange });
        listed = processors && (await lookAtProcessor(database, processors, findings, { ...range, onWindow: onRange }));
      };
      const findings = await lookTwice(look, () => new Promise((resolve) => setTimeout(resolve, betweenLooksMs)));
      return { findings, listed, compared: sandbox !== undefined };
    } finally {
      await books.close();
    }
  } finally {
    processors?.close();
    await database.close();
  }
}

function processorsHere(sandbox: Sandbox | undefined): Processors {
  return openProcessors({
    ...readEnvironment(process.env, readProcessorEnvironment),
    ...(sandbox ? { ELIGO_SANDBOX_URL: sandbox.url, ELIGO_SANDBOX_KEY: sandbox.key } : {}),
  });
}

function place(): { databaseUrl: string; sandbox: Sandbox | undefined } {
  const databaseUrl = variable('DATABASE_URL');
  const [url, key] = [variable('ELIGO_SANDBOX_URL'), variable('ELIGO_SANDBOX_KEY')];
  if (databaseUrl) return { databaseUrl, sandbox: url && key ? { url, key } : undefined };
  const { file } = runningStack();
  return { databaseUrl: file.postgres, sandbox: { url: file.processor, key: file.processor_key } };
}

export function outcomeOf({ findings, compared, listed }: Looked): Outcome {
  const { faults, areMore, areMoreWrong } = findings;
  const [wrong, notCompared, unsettled] = (['wrong', 'not_compared', 'unsettled'] as const).map((state) =>
    faults.filter((fault) => fault.state === state),
  ) as [typeof faults, typeof faults, typeof faults];
  const missing = notCompared.length > 0 ? `, ${notCompared.length} not compared` : '';
  return {
    json: {
      ...{ wrong, unsettled, not_compared: notCompared, compared_with_processor: compared },
      ...(areMore ? { more: true } : {}),
      ...(listed ? { processor_accounts: listed.accounts, processor_movements: listed.movements } : {}),
    },
    lines: [
      ...faults.map(({ state, fault, id, detail }) => `${state.padEnd(12)}  ${fault}  ${id}  ${detail}`),
      ...(areMore
        ? [`There are more findings than the ${faults.length} above. Fix these first, then run the check again`]
        : []),
      ...(listed ? [`${listed.accounts} accounts at processors listed ${listed.movements} movements`] : []),
      `${wrong.length} wrong, ${unsettled.length} unsettled${missing}${compared ? '' : '; not compared with a processor list'}`,
    ],
    failed: wrong.length > 0,
    incomplete: notCompared.length > 0 || areMoreWrong,
  };
}

async function reread(given: Given): Promise<Outcome> {
  const from = dayOf(given.needed('from'), '--from');
  const to = given.text('to');
  const before = to === undefined ? Date.now() : dayOf(to, '--to') + 86_400_000;
  if (before <= from) throw new UsageError('--to must not be before --from');
  const accountId = given.text('account');
  if (accountId !== undefined && !isId('account', accountId)) {
    throw new UsageError('--account must be the identifier of an account: facct_…');
  }
  const processors = processorsHere(place().sandbox);
  try {
    const { accounts, listed, stored, unread } = await withEverything('refunds', (database) =>
      rereadMovements(database, processors, { from, before, accountId }, progressOf(given.sayAside)),
    );
    return {
      json: { accounts, listed, stored, unread },
      lines: [
        ...unread.map((account) => `not read: ${account}`),
        `${accounts} accounts at processors listed ${listed} movements; ${stored} were missing and are stored`,
      ],
      incomplete: unread.length > 0,
    };
  } finally {
    processors.close();
  }
}
