import { openDatabase } from '@eligo/postgres';
import type { Command, Outcome } from '../command.ts';
import { runningStack } from '../connect.ts';
import { checkBooks, type Fault, type ProcessorList } from '../ledger/check-books.ts';

/** The books. */
export const ledgerCommands: readonly Command[] = [
  {
    name: 'ledger check',
    usage: '',
    summary:
      'Compares records, ledgers, events and the sandbox’s list to the cent. Uses DATABASE_URL, ELIGO_SANDBOX_URL and ELIGO_SANDBOX_KEY, or the running stack.',
    options: {},
    run: async () => outcomeOf(await lookTwice()),
  },
];

/** The longest call to the processor is over by then, and what it did is recorded. */
const betweenLooksMs = 8_000;

// Records and the processor's list cannot be read at the same moment: while charges run, only what two looks find is a fault.
async function lookTwice(): Promise<{ faults: Fault[]; compared: boolean }> {
  const { databaseUrl, processor } = place();
  const database = openDatabase({
    url: databaseUrl,
    applicationName: 'eligo ledger check',
    max: 1,
    statementTimeoutMs: 120_000,
  });
  const look = async () => checkBooks(database, processor && (await listOf(processor)));
  try {
    const first = await look();
    if (first.length === 0) return { faults: first, compared: processor !== undefined };
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
    const seen = new Set(first.map(nameOf));
    const faults = (await look()).filter((fault) => seen.has(nameOf(fault)));
    return { faults, compared: processor !== undefined };
  } finally {
    await database.close();
  }
}

function nameOf({ state, fault, id, detail }: Fault): string {
  return [state, fault, id, detail].join(' ');
}

interface Processor {
  readonly url: string;
  readonly key: string;
}

function place(): { databaseUrl: string; processor: Processor | undefined } {
  const { DATABASE_URL, ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: key } = process.env;
  if (DATABASE_URL) return { databaseUrl: DATABASE_URL, processor: url && key ? { url, key } : undefined };
  const { file } = runningStack();
  return { databaseUrl: file.postgres, processor: { url: file.processor, key: file.processor_key } };
}

async function listOf({ url, key }: Processor): Promise<ProcessorList> {
  const read = async (noun: string) => {
    const answer = await fetch(new URL(`/sandbox/${noun}`, url), { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`The sandbox returned ${answer.status} for its ${noun}`);
    return ((await answer.json()) as { data: unknown[] }).data;
  };
  return { charges: await read('charges'), refunds: await read('refunds') };
}

function outcomeOf({ faults, compared }: { faults: Fault[]; compared: boolean }): Outcome {
  const wrong = faults.filter(({ state }) => state === 'wrong');
  const unsettled = faults.filter(({ state }) => state === 'unsettled');
  const linesOf = (some: readonly Fault[]) =>
    some.map(({ state, fault, id, detail }) => `${state.padEnd(9)}  ${fault}  ${id}  ${detail}`);
  return {
    json: { wrong, unsettled, compared_with_processor: compared },
    lines: [
      ...linesOf(wrong),
      ...linesOf(unsettled),
      `${wrong.length} wrong, ${unsettled.length} unsettled${compared ? '' : '; not compared with a processor list'}`,
    ],
    failed: wrong.length > 0,
  };
}
