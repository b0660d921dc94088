import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Stripe from 'stripe';
import { onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../src/index.ts';

export const secretKey = 'sk_test_sandbox';

/** A directory that is gone when the test is over. */
export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'eligo-sandbox-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

export async function newSandbox(home = newHome()): Promise<Sandbox> {
  const bugs: unknown[] = [];
  const sandbox = await startSandbox({
    home,
    host: '127.0.0.1',
    port: 0,
    secretKey,
    logger: { info: () => undefined, error: (fields) => bugs.push(fields) },
  });
  onTestFinished(async () => {
    await sandbox.stop();
    if (bugs.length > 0) throw new Error(`the sandbox reported a bug: ${JSON.stringify(bugs)}`);
  });
  return sandbox;
}

/** The official SDK, as a partner of Stripe's would set it up. */
export function sdk(url: string, account?: string): Stripe {
  const { hostname, port } = new URL(url);
  return new Stripe(secretKey, {
    host: hostname,
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
    ...(account !== undefined && { stripeAccount: account }),
  });
}

/** What the tests look into: an object, a list of them, or an error. */
export interface StripeJson {
  id: string;
  type: string;
  status: string;
  amount: number;
  amount_received: number;
  latest_charge: string;
  payment_method: string;
  data: StripeJson[];
  error: { type: string; code?: string; param?: string; decline_code?: string; payment_intent: StripeIntentJson };
}

interface StripeIntentJson {
  status: string;
  last_payment_error: { code: string };
}

export interface Answer {
  status: number;
  replayed: boolean;
  headers: Headers;
  text: string;
  json: StripeJson;
}

export interface Sender {
  post(path: string, form: Record<string, string>, key?: string): Promise<Answer>;
  get(path: string): Promise<Answer>;
  witness(method: string, path: string, body?: object): Promise<Answer>;
}

/** Plain requests, for what the SDK does not show: statuses, bytes and headers. */
export function sender(url: string, account = 'acct_test0001'): Sender {
  const send = async (path: string, init: RequestInit): Promise<Answer> => {
    const answer = await fetch(new URL(path, url), init);
    const text = await answer.text();
    return {
      status: answer.status,
      replayed: answer.headers.get('idempotent-replayed') === 'true',
      headers: answer.headers,
      text,
      json: JSON.parse(text),
    };
  };
  const headers = { authorization: `Bearer ${secretKey}`, 'stripe-account': account };
  return {
    post: (path, form, key) =>
      send(path, {
        method: 'POST',
        headers: { ...headers, ...(key !== undefined && { 'idempotency-key': key }) },
        body: new URLSearchParams(form),
      }),
    get: (path) => send(path, { headers }),
    witness: (method, path, body) =>
      send(path, {
        method,
        headers: { authorization: headers.authorization, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}

/** Arms a fault for the next calls. */
export async function arm(stripe: Sender, fault: object): Promise<void> {
  const { status, text } = await stripe.witness('POST', '/sandbox/faults', { fault });
  if (status !== 200) throw new Error(text);
}

/** An intent that only has to be confirmed. */
export async function newIntent(stripe: Sender, fields: Record<string, string> = {}): Promise<string> {
  const { json } = await stripe.post('/v1/payment_intents', {
    amount: '1000',
    currency: 'usd',
    payment_method: 'pm_card_visa',
    ...fields,
  });
  return json.id;
}

export async function chargesOf(stripe: Sender): Promise<Record<string, unknown>[]> {
  return (await stripe.witness('GET', '/sandbox/charges')).json.data.map((charge) => ({ ...charge }));
}
