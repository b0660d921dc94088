import { openDatabase } from '@eligo/postgres';
import { openProcessors, readProcessorEnvironment } from '@eligo/processor';
import { readEnvironment } from '@eligo/service';
import { isId } from '@eligo/values';
import { type Command, type Given, type Outcome, UsageError } from '../command.ts';
import { withEverything } from '../connect.ts';
import { checkBooks, type Fault, type ProcessorList } from '../ledger/check-books.ts';
import { checkLedger } from '../ledger/check-ledger.ts';
import { checkProcessor, type ProcessorCheck, type ProcessorCheckRange } from '../ledger/check-processor.ts';
import { accountsBesideSuspense, moveFromSuspense } from '../ledger/move-from-suspense.ts';
import { renameCharges, repairLedger } from '../ledger/repair-ledger.ts';
import { operatorName } from '../recorded-command.ts';
import { runningStack } from '../running-stack.ts';
import { variable } from '../variable.ts';

/** The books. */
export const ledgerCommands: readonly Command[] = [
  {
    name: 'ledger check',
    usage: '[--processor [--from DAY]]',
    summary:
      'Compares records, journals, the ledger, events, the processors’ listed movements and the sandbox’s list to the cent. With --processor also the list that each processor gives now, from behind the last day that was compared, or from a UTC day on. Uses DATABASE_URL, ELIGO_SANDBOX_URL, ELIGO_SANDBOX_KEY and the variables of Stripe, or the running stack.',
    readsOnly: true,
    options: { processor: { type: 'boolean' }, from: { type: 'string' } },
    run: check,
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

interface Looked {
  readonly faults: Fault[];
  /** Whether there was a list of the sandbox to compare with. */
  readonly compared: boolean;
  /** What the processors listed. */
  readonly listed: Omit<ProcessorCheck, 'faults'> | undefined;
}

async function check(given: Given): Promise<Outcome> {
  const from = given.text('from');
  const asks = given.flag('processor');
  if (from !== undefined && !asks) throw new UsageError('--from needs --processor');
  if (from !== undefined && !(/^\d{4}-\d\d-\d\d$/.test(from) && Number.isFinite(Date.parse(from)))) {
    throw new UsageError('--from must be a day in UTC: 2026-11-23');
  }
  return outcomeOf(await lookTwice(asks ? { from } : undefined));
}

// Records and the processor's list cannot be read at the same moment: while charges run, only what two looks find is a fault.
async function lookTwice(range: ProcessorCheckRange | undefined): Promise<Looked> {
  const { databaseUrl, sandbox } = place();
  const database = openDatabase({
    url: databaseUrl,
    applicationName: 'eligo ledger check',
    max: 1,
    statementTimeoutMs: 120_000,
  });
  const processors =
    range &&
    openProcessors({
      ...readEnvironment(process.env, readProcessorEnvironment),
      ...(sandbox ? { ELIGO_SANDBOX_URL: sandbox.url, ELIGO_SANDBOX_KEY: sandbox.key } : {}),
    });
  const look = async () => {
    const books = await checkBooks(database, sandbox && (await listOf(sandbox)));
    const listed = processors && (await checkProcessor(database, processors, range));
    return { faults: [...books, ...(await checkLedger(database)), ...(listed?.faults ?? [])], listed };
  };
  const compared = sandbox !== undefined;
  try {
    const first = await look();
    if (first.faults.length === 0) return { ...first, compared };
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
    const seen = new Set(first.faults.map(nameOf));
    const { faults, listed } = await look();
    return { faults: faults.filter((fault) => seen.has(nameOf(fault))), listed: first.listed ?? listed, compared };
  } finally {
    processors?.close();
    await database.close();
  }
}

function nameOf({ state, fault, id, detail }: Fault): string {
  return [state, fault, id, detail].join(' ');
}

interface Sandbox {
  readonly url: string;
  readonly key: string;
}

function place(): { databaseUrl: string; sandbox: Sandbox | undefined } {
  const databaseUrl = variable('DATABASE_URL');
  const [url, key] = [variable('ELIGO_SANDBOX_URL'), variable('ELIGO_SANDBOX_KEY')];
  if (databaseUrl) return { databaseUrl, sandbox: url && key ? { url, key } : undefined };
  const { file } = runningStack();
  return { databaseUrl: file.postgres, sandbox: { url: file.processor, key: file.processor_key } };
}

async function listOf({ url, key }: Sandbox): Promise<ProcessorList> {
  const read = async (noun: string) => {
    const answer = await fetch(new URL(`/sandbox/${noun}`, url), { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`The sandbox returned ${answer.status} for its ${noun}`);
    return ((await answer.json()) as { data: unknown[] }).data;
  };
  return { charges: await read('charges'), refunds: await read('refunds') };
}

function outcomeOf({ faults, compared, listed }: Looked): Outcome {
  const wrong = faults.filter(({ state }) => state === 'wrong');
  const unsettled = faults.filter(({ state }) => state === 'unsettled');
  const linesOf = (some: readonly Fault[]) =>
    some.map(({ state, fault, id, detail }) => `${state.padEnd(9)}  ${fault}  ${id}  ${detail}`);
  return {
    json: {
      ...{ wrong, unsettled, compared_with_processor: compared },
      ...(listed ? { processor_accounts: listed.accounts, processor_movements: listed.movements } : {}),
    },
    lines: [
      ...linesOf(wrong),
      ...linesOf(unsettled),
      ...(listed ? [`${listed.accounts} accounts at processors listed ${listed.movements} movements`] : []),
      `${wrong.length} wrong, ${unsettled.length} unsettled${compared ? '' : '; not compared with a processor list'}`,
    ],
    failed: wrong.length > 0,
  };
}
