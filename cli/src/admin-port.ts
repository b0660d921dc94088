import { randomUUID } from 'node:crypto';
import { generateProofKey, operatorHeaders, signLogin } from '@eligo/rpc';
import { UsageError } from './command.ts';
import { type GivenLogin, givenLogin } from './given-login.ts';
import { operatorKey } from './operator-key.ts';
import type { Json } from './public-api.ts';
import { machineUser } from './recorded-command.ts';
import { runningStack } from './running-stack.ts';

const timeoutMs = 35_000;

/**
 * Calls a method of checkout on its admin port, at ELIGO_CHECKOUT_ADMIN or in the running stack, by the login in ELIGO_OPERATOR_TOKEN. Without one the
 * machine's user calls, by a login for this method alone. The body may have a credential in it, so no error repeats it.
 */
export async function callCheckout(method: string, body: Json): Promise<Json> {
  const url = process.env.ELIGO_CHECKOUT_ADMIN || runningCheckoutAdmin();
  const call = { method: `checkout.${method}`, scope: undefined, body: JSON.stringify(body) };
  const login = givenLogin() ?? loginOfUser(call.method);
  const request = fetch(new URL(`/eligo.checkout.v1.CheckoutService/${method}`, url), {
    method: 'POST',
    headers: { ...operatorHeaders(call, login), 'content-type': 'application/json' },
    body: call.body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = await request.catch((cause: unknown) => {
    throw new Error(`${url} does not respond.`, { cause });
  });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text) as Json;
  throw new UsageError(messageOf(text) ?? `${method} returned ${answer.status}`);
}

function loginOfUser(method: string): GivenLogin {
  const key = generateProofKey();
  const login = {
    ...{ operator: { name: machineUser() }, loginId: randomUUID(), allows: [method] },
    ...{ expiresAtMs: Date.now() + timeoutMs, proofKey: key.publicKey },
  };
  return { token: signLogin(login, operatorKey()), proofKey: key.privateKey };
}

function runningCheckoutAdmin(): string {
  const { file } = runningStack();
  const admin = file.processes.find(({ name }) => name === 'checkout')?.admin;
  if (!admin) throw new Error('The running stack has no admin address of checkout');
  return admin;
}

function messageOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' && message !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}
