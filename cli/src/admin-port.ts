import { randomUUID } from 'node:crypto';
import { signLogin } from '@eligo/rpc';
import { UsageError } from './command.ts';
import { operatorKey } from './operator-key.ts';
import type { Json } from './public-api.ts';
import { machineUser } from './recorded-command.ts';
import { runningStack } from './running-stack.ts';
import { variable } from './variable.ts';

const timeoutMs = 35_000;

/**
 * Calls a method of checkout on its admin port, at ELIGO_CHECKOUT_ADMIN or in the running stack, by the login in ELIGO_OPERATOR_TOKEN. Without one the
 * machine's user calls, by a login for this method alone. The body may have a credential in it, so no error repeats it.
 */
export async function callCheckout(method: string, body: Json): Promise<Json> {
  const url = process.env.ELIGO_CHECKOUT_ADMIN || runningCheckoutAdmin();
  const token = variable('ELIGO_OPERATOR_TOKEN') || loginOfUser(`checkout.${method}`);
  const request = fetch(new URL(`/eligo.checkout.v1.CheckoutService/${method}`, url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = await request.catch((cause: unknown) => {
    throw new Error(`${url} does not respond.`, { cause });
  });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text) as Json;
  throw new UsageError(messageOf(text) ?? `${method} returned ${answer.status}`);
}

function loginOfUser(method: string): string {
  const operator = { name: machineUser() };
  const login = { operator, loginId: randomUUID(), allows: [method], expiresAtMs: Date.now() + timeoutMs };
  return signLogin(login, operatorKey());
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
