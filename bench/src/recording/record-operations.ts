import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize } from 'node:v8';
import { confirm, make, text } from '@eligo/e2e';
import pg from 'pg';
import { preloadCounting } from '../costs/statements.ts';
import type { WriteOperation } from '../costs/write-operations.ts';
import { type BenchShop, sessionBody } from '../seed/shop.ts';
import { type StackProcess, type StackProcessOptions, startStackProcess } from '../stack-process.ts';
import { identifiersIn } from './fresh-values.ts';
import type { SentStatement } from './record-statements.ts';
import { sessionParts } from './session-parts.ts';
import { durableTransactions, type Transaction } from './transactions.ts';

/** What one run of an operation made durable, and the identifiers that were there before it. */
export interface Recording {
  readonly transactions: readonly Transaction[];
  readonly known: readonly string[];
}

export type Recordings = Readonly<Record<WriteOperation, Recording>>;

/** Runs each operation once in an all-in-one that writes down its statements. They are the same in both topologies. */
export async function recordOperations(
  options: Omit<StackProcessOptions, 'topology' | 'preload'>,
  openShop: (stack: StackProcess) => Promise<BenchShop>,
): Promise<Recordings> {
  const file = join(options.home, 'statements');
  const stack = await startStackProcess({
    ...options,
    topology: 'all-in-one',
    variables: { ...options.variables, ELIGO_BENCH_STATEMENTS: file },
    preload: join(import.meta.dirname, 'record-statements.ts'),
  });
  const postgres = new pg.Pool({ connectionString: stack.file.postgres, max: 1 });
  try {
    const shop = await openShop(stack);
    // The stacks that are measured start later, and find it loaded.
    await preloadCounting(postgres);
    return await record(stack, postgres, shop, file);
  } finally {
    await postgres.end();
    await stack.stop();
  }
}

async function record(stack: StackProcess, postgres: pg.Pool, shop: BenchShop, file: string): Promise<Recordings> {
  const api = stack.api();
  const [shopper] = shop.shoppers;
  if (shopper === undefined) throw new Error('a shop without shoppers');
  const create = async () => {
    const body = sessionBody(shop, shopper);
    return text(
      await make(api, '/v1/checkout/sessions', 'checkout_session', body.checkout_session),
      'checkout_session_id',
    );
  };
  const partsOf = async (id: string) => (await sessionParts(postgres, [id])).get(id) ?? [];
  // Each is run once before, so that what a process does only at first is not taken for the operation's own.
  const first = await create();
  await confirm(api, first, shopper.paymentMethodId);

  const shared = [...identifiersIn([shop, stack.file.account])];
  const created = await during(file, ['eligo_checkout'], create);
  const sessionId = created.result;
  const before = await partsOf(sessionId);
  const confirmed = await during(file, ['eligo_checkout'], () => confirm(api, sessionId, shopper.paymentMethodId));
  if (confirmed.result.status !== 200) throw new Error(`the confirm was refused: ${confirmed.result.text}`);
  const paid = await partsOf(sessionId);
  const refunded = await during(file, ['eligo_checkout', 'eligo_refunds'], () =>
    api.ok('POST', `/v1/checkout/sessions/${sessionId}/refund`, { body: { checkout_session: {} } }),
  );
  return {
    'create-session': { transactions: created.transactions, known: shared },
    confirm: { transactions: confirmed.transactions, known: before },
    refund: { transactions: refunded.transactions, known: paid },
  };
}

async function during<Result>(
  file: string,
  roles: readonly string[],
  work: () => Promise<Result>,
): Promise<{ result: Result; transactions: Transaction[] }> {
  const from = statSync(file).size;
  const result = await work();
  const lines = readFileSync(file).subarray(from).toString('latin1').trimEnd().split('\n');
  const sent = lines.map((line) => deserialize(Buffer.from(line, 'base64')) as SentStatement);
  return { result, transactions: durableTransactions(sent, roles) };
}
