import { secretsOf } from '@eligo/stack';
import { UsageError } from './command.ts';
import { runningStack } from './connect.ts';
import type { Json } from './public-api.ts';

const timeoutMs = 35_000;

/**
 * Calls a method of checkout on its admin port with the operator's token: ELIGO_CHECKOUT_ADMIN and ELIGO_OPERATOR_TOKEN, or the running stack's. The body
 * may have a credential in it, so no error repeats it.
 */
export async function callCheckout(method: string, body: Json): Promise<Json> {
  const { url, token } = checkoutAdmin();
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

function checkoutAdmin(): { url: string; token: string } {
  const { ELIGO_CHECKOUT_ADMIN: url, ELIGO_OPERATOR_TOKEN: token } = process.env;
  if (url && token) return { url, token };
  const { home, file } = runningStack();
  const admin = file.processes.find(({ name }) => name === 'checkout')?.admin;
  if (!admin) throw new Error('The running stack has no admin address of checkout');
  return { url: admin, token: secretsOf(home).operatorToken };
}

function messageOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' && message !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}
