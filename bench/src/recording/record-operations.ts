import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize } from 'node:v8';
import { confirm, type Json, make, text } from '@eligo/e2e';
import pg from 'pg';
import { preloadCounting } from '../costs/statements.ts';
import type { RecordedOperation, WriteOperation } from '../costs/write-operations.ts';
import { type CardSlot, newPageCard } from '../operations/sessions.ts';
import { type BenchShop, sessionBody } from '../seed/shop.ts';
import { type StackProcess, type StackProcessOptions, startStackProcess } from '../stack-process.ts';
import { identifiersIn } from './fresh-values.ts';
import type { SentStatement } from './record-statements.ts';
import { sessionParts } from './session-parts.ts';
import { durableTransactions, type Transaction } from './transactions.ts';

/** What one run of an operation made durable, and the identifiers that were there before it: those of an operation that is sent again. */
export interface Recording {
  readonly transactions: readonly Transaction[];
  readonly known: readonly string[];
}

/** Of the operations that have a limit, and of those others that were asked for. */
export type Recordings = Readonly<Record<WriteOperation, Recording> & Partial<Record<RecordedOperation, Recording>>>;

/** Runs each operation once in an all-in-one that writes down its statements. They are the same in both topologies. */
export async function recordOperations(
  options: Omit<StackProcessOptions, 'topology' | 'preload'>,
  openShop: (stack: StackProcess) => Promise<BenchShop>,
  wanted: readonly RecordedOperation[],
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
    return { ...(await record(stack, postgres, shop, file)), ...(await recordOthers(stack, shop, file, wanted)) };
  } finally {
    await postgres.end();
    await stack.stop();
  }
}

async function record(stack: StackProcess, postgres: pg.Pool, shop: BenchShop, file: string) {
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

/** Those that nothing sends again are recorded for their counts. The first run of each does what a process does only once. */
async function recordOthers(
  stack: StackProcess,
  shop: BenchShop,
  file: string,
  wanted: readonly RecordedOperation[],
): Promise<Partial<Record<RecordedOperation, Recording>>> {
  const api = stack.api();
  const [shopper] = shop.shoppers;
  if (shopper === undefined) throw new Error('a shop without shoppers');
  const { checkout_session: body } = sessionBody(shop, shopper);
  const open = (more: object = {}) => make(api, '/v1/checkout/sessions', 'checkout_session', { ...body, ...more });
  const found: Partial<Record<RecordedOperation, Recording>> = {};
  for (const operation of wanted.filter((one) => one in others)) {
    for (let run = 0; run < 2; run += 1) {
      const work = await others[operation as keyof typeof others](stack, open);
      const { result, transactions } = await during(file, ['eligo_checkout'], work);
      if (result.status !== 200) throw new Error(`${operation} was refused: ${result.status} ${result.text}`);
      found[operation] = { transactions, known: [] };
    }
  }
  return found;
}

type Answered = { readonly status: number; readonly text: string };
type OpenSession = (more?: object) => Promise<Json>;

const others = {
  async capture(stack: StackProcess, open: OpenSession): Promise<() => Promise<Answered>> {
    const api = stack.api();
    const id = text(await open({ capture_method: 'manual' }), 'checkout_session_id');
    const body = { checkout_session: { payment_method: 'credit' } };
    await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, { body });
    const capture = { body: { checkout_session: {} }, idempotencyKey: randomUUID() };
    return () => api.send('POST', `/v1/checkout/sessions/${id}/capture`, capture);
  },
  'page-pay': payOnPage(['other']),
  'page-pay-two': payOnPage(['health', 'other']),
};

function payOnPage(slots: readonly CardSlot[]) {
  return async ({ port }: StackProcess, open: OpenSession): Promise<() => Promise<Answered>> => {
    const path = new URL(text(await open(), 'redirect_url')).pathname;
    const body = JSON.stringify({ cards: slots.map(newPageCard) });
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': '10.0.0.1' };
    return async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}/pay`, { method: 'POST', headers, body });
      return { status: answer.status, text: await answer.text() };
    };
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
