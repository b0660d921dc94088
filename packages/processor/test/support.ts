import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fault, type Sandbox, startSandbox } from '@eligo/sandbox';
import { onTestFinished } from 'vitest';
import {
  type CallObservation,
  openProcessors,
  type ProcessorOptions,
  type ProcessorPort,
  type Processors,
  type TestBank,
  type TestCardName,
} from '../src/index.ts';

export const secretKey = 'sk_test_port';
export const scope = { accountId: 'facct_test', testMode: true };

export interface Bench {
  sandbox: Sandbox;
  processors: Processors;
  port: ProcessorPort;
  bank: TestBank;
  observed: CallObservation[];
  arm(fault: Partial<Fault>): Promise<void>;
  charges(): Promise<Record<string, unknown>[]>;
}

/** A sandbox and a port on it, both gone when the test is over. */
export async function newBench(options: ProcessorOptions = {}): Promise<Bench> {
  const sandbox = await startTestSandbox();
  const observed: CallObservation[] = [];
  const processors = openPort(sandbox.url, { onCall: (observation) => observed.push(observation), ...options });
  const port = processors.of(scope);
  if (port.testBank === undefined) throw new Error('the sandbox has a bank');
  const ask = (method: string, path: string, body?: object) =>
    fetch(new URL(path, sandbox.url), {
      ...{ method, headers: { authorization: `Bearer ${secretKey}` } },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    sandbox,
    processors,
    port,
    bank: port.testBank,
    observed,
    arm: async (fault) => {
      const answer = await ask('POST', '/sandbox/faults', { fault });
      if (!answer.ok) throw new Error(await answer.text());
    },
    charges: async () => {
      const { data } = (await (await ask('GET', '/sandbox/charges')).json()) as { data: Record<string, unknown>[] };
      return data;
    },
  };
}

export async function startTestSandbox(port = 0, home = newHome()): Promise<Sandbox> {
  const sandbox = await startSandbox({ home, host: '127.0.0.1', port, secretKey });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'eligo-processor-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

export function openPort(url: string, options: ProcessorOptions = {}): Processors {
  const processors = openProcessors({ ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: secretKey }, options);
  onTestFinished(() => processors.close());
  return processors;
}

let lastKey = 0;

export function newKey(): { idempotencyKey: string } {
  lastKey += 1;
  return { idempotencyKey: `key-${lastKey}` };
}

export async function newCard({ bank }: Bench, card: TestCardName): Promise<string> {
  const made = await bank.createPaymentMethod({ card }, newKey());
  if (made.kind !== 'found') throw new Error(`no card: ${made.kind}`);
  return made.paymentMethodId;
}

/** An intent of 10.00 that only has to be confirmed. */
export async function newIntent(
  bench: Bench,
  card: TestCardName = 'hsa',
  capture: 'automatic' | 'manual' = 'automatic',
): Promise<string> {
  const made = await bench.port.createIntent(
    { attemptId: 'att_1', amountCents: 1000, capture, paymentMethod: await newCard(bench, card), metadata: {} },
    newKey(),
  );
  if (made.kind !== 'created') throw new Error(`no intent: ${made.kind}`);
  return made.intentId;
}

export async function charged(
  bench: Bench,
  card: TestCardName = 'hsa',
  capture: 'automatic' | 'manual' = 'automatic',
): Promise<string> {
  const id = await newIntent(bench, card, capture);
  await bench.port.confirmIntent(id, { offSession: true }, newKey());
  return id;
}
