import { allRoutes } from '@eligo/contract';
import { type FuzzReport, type ProbeTarget, probeFuzz, type SeededRecords, seedRecords } from '@eligo/gateway/probes';
import type { Api, Constellation } from '@eligo/testkit';
import { text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { make } from '../shop.ts';
import { type Memory, measureMemory } from './memory.ts';
import { makeReadyRecords } from './ready-records.ts';

/** What a run sent, what came back, and what it left in memory. */
export interface FuzzRun {
  readonly requests: number;
  readonly perSecond: number;
  /** Of this process. */
  readonly cpuSeconds: number;
  readonly problems: readonly string[];
  readonly statuses: Readonly<Record<number, number>>;
  /** The routes of which no request succeeded. */
  readonly neverSucceeded: readonly string[];
  /** After each third, once garbage was collected. */
  readonly memory: readonly Memory[];
}

/** Requests that share their records: those that end one are a fifth of them and come last. */
const batchRequests = 2_000;

/**
 * Sends as many random requests as asked for to every route, in batches with records of their own, and measures memory after each third.
 */
export async function runFuzz(
  eligo: Constellation,
  { requests, seed }: { requests: number; seed: number },
): Promise<FuzzRun> {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const statuses: Record<number, number> = {};
  const succeeded = new Set<string>();
  const memory: Memory[] = [];
  const problems: string[] = [];
  let sent = 0;
  while (sent < requests) {
    // A third ends with a measurement, so a batch never reaches into the next.
    const endOfThird = Math.ceil(((memory.length + 1) * requests) / 3);
    const target = await newTarget(eligo);
    const batch = Math.min(batchRequests, endOfThird - sent);
    const report: FuzzReport = await probeFuzz(target, { requests: batch, seed: seed + sent });
    sent += report.requests;
    problems.push(...report.problems);
    for (const [status, count] of Object.entries(report.statuses)) {
      statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
    }
    for (const id of report.succeeded) succeeded.add(id);
    if (sent === endOfThird) memory.push(await measureMemory());
  }
  const perSecond = Math.round((sent / (performance.now() - startedAt)) * 1_000);
  const cpuSeconds = Math.round((process.cpuUsage(cpu).user + process.cpuUsage(cpu).system) / 1_000_000);
  const neverSucceeded = allRoutes.map(({ id }) => id).filter((id) => !succeeded.has(id));
  return { requests: sent, perSecond, cpuSeconds, problems, statuses, neverSucceeded, memory };
}

// An account of its own for each batch: events go to all endpoints of an account, and the requests make endpoints.
async function newTarget(eligo: Constellation): Promise<ProbeTarget> {
  const testKey = text(
    await runCli(eligo, ['accounts', 'create', '--name', 'Fuzz', '--feature', 'receipts']),
    'test_api_key',
  );
  const seeded = await seedRecords(eligo.url, testKey, { receipts: true });
  const unused = { liveKey: '', scopelessKey: '', foreignKey: '' };
  const api = eligo.api(testKey);
  const more = { checkout_session: await newSessions(api, seeded.references) };
  const ready = await makeReadyRecords(api, seeded.references);
  return { url: eligo.url, testKey, ...unused, ...seeded, more, ready };
}

// A session is confirmed, refunded or ended once, so that one alone would refuse nearly everything.
async function newSessions(
  api: Api,
  { price, customer, payment_method }: SeededRecords['references'],
): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < sessionsInBatch; made += 1) {
    const fields = { line_items: [{ price, quantity: 1 }], customer, success_url: 'https://shop.example/ok' };
    const id = text(await make(api, '/v1/checkout/sessions', 'checkout_session', fields), 'checkout_session_id');
    ids.push(id);
    if (made % 3 > 0) continue;
    await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, {
      body: { checkout_session: { payment_method } },
    });
  }
  return ids;
}

const sessionsInBatch = 24;
