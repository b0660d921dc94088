import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import Koa, { type Context } from 'koa';
import { invalidRequest, Refusal } from '../refusal.ts';
import { randomText } from '../store/ids.ts';
import type { Executor } from './execute.ts';
import { matchRoute } from './route-table.ts';
import type { Witness } from './witness.ts';

export interface AppParts {
  secretKey: string;
  platformAccount: string;
  executor: Executor;
  witness: Witness;
  onBug(error: unknown): void;
}

const maxBodyBytes = 1024 * 1024;
const maxKeyLength = 255;
const accountPattern = /^acct_[A-Za-z0-9]{8,64}$/;

/** The HTTP side: who asks, on which account, for which call; and how an answer goes out. */
export function sandboxApp(parts: AppParts): Koa {
  const app = new Koa();
  const secretDigest = digest(parts.secretKey);
  app.silent = true;
  app.use(async (context) => {
    const requestId = `req_${randomText(14)}`;
    context.set('Request-Id', requestId);
    context.type = 'application/json';
    try {
      if (context.path.startsWith('/v1/')) await answerStripeCall(context, requestId);
      else if (context.path === '/healthz') context.body = '{"status":"ok"}';
      else await answerWitnessCall(context);
    } catch (error) {
      if (!(error instanceof Refusal)) parts.onBug(error);
      const refusal =
        error instanceof Refusal
          ? error
          : new Refusal(500, { type: 'api_error', message: 'An unknown error occurred.' });
      context.status = refusal.status;
      context.body = JSON.stringify({ error: refusal.body });
    }
  });
  return app;

  async function answerStripeCall(context: Context, requestId: string): Promise<void> {
    const form = context.method === 'GET' ? context.querystring : await readBody(context.req);
    needSecretKey(context, secretDigest);
    const account = readAccount(context, parts.platformAccount);
    const match = matchRoute(context.method, context.path);
    if (match === undefined) {
      throw new Refusal(404, {
        type: 'invalid_request_error',
        message: `Unrecognized request URL (${context.method}: ${context.path.slice(0, 200)}). If you are trying to list objects, remove the trailing slash.`,
      });
    }
    const idempotencyKey = context.method === 'POST' ? readIdempotencyKey(context) : null;
    const answer = await parts.executor.run({
      ...match,
      method: context.method,
      path: context.path,
      form,
      account,
      idempotencyKey,
      requestId,
    });
    if (answer === undefined) {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    context.status = answer.status;
    echo(context, 'Stripe-Version');
    echo(context, 'Stripe-Account');
    echo(context, 'Idempotency-Key');
    if (answer.replayed) context.set('Idempotent-Replayed', 'true');
    // What was stored will be replayed as it is: repeating a 500 under its key is of no use. A 409 is worth repeating.
    if (answer.status >= 500) context.set('Stripe-Should-Retry', 'false');
    if (answer.retryAfterSeconds !== undefined) {
      context.set('Retry-After', String(answer.retryAfterSeconds));
      context.set('Stripe-Rate-Limited-Reason', 'global-rate');
    }
    if (answer.status === 409) context.set('Stripe-Should-Retry', 'true');
    context.body = answer.body;
  }

  /**
   * `/sandbox/*` is for whoever tests and operates. On this machine it needs no key, so that a test can look; from
   * elsewhere it does, and a page in a browser (it sends `Origin`) is never let in.
   */
  async function answerWitnessCall(context: Context): Promise<void> {
    const body = context.method === 'GET' ? '' : await readBody(context.req);
    if (context.get('Origin') !== '')
      throw new Refusal(403, { type: 'invalid_request_error', message: 'Not for browsers.' });
    const local = /^(::1|(::ffff:)?127\.)/.test(context.req.socket.remoteAddress ?? '');
    if (!local || context.get('Authorization') !== '') needSecretKey(context, secretDigest);
    context.body = await parts.witness(context.method, context.path, context.query, readJson(body));
  }
}

function echo(context: Context, header: string): void {
  const value = context.get(header);
  if (value !== '') context.set(header, value);
}

function needSecretKey(context: Context, secretDigest: Buffer): void {
  const [scheme = '', credentials = ''] = context.get('Authorization').split(' ', 2);
  const key =
    scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString().split(':')[0] : credentials;
  if (key !== undefined && timingSafeEqual(digest(key), secretDigest)) return;
  throw new Refusal(401, {
    type: 'invalid_request_error',
    message: credentials === '' ? 'You did not provide an API key.' : 'Invalid API Key provided.',
  });
}

function readAccount(context: Context, platformAccount: string): string {
  const account = context.get('Stripe-Account');
  if (account === '') return platformAccount;
  if (accountPattern.test(account)) return account;
  throw new Refusal(403, {
    type: 'invalid_request_error',
    code: 'account_invalid',
    message: 'The provided key does not have access to this account (or that account does not exist).',
  });
}

function readIdempotencyKey(context: Context): string | null {
  const key = context.get('Idempotency-Key');
  if (key.length > maxKeyLength) {
    throw invalidRequest(`Idempotency keys are at most ${maxKeyLength} characters long.`, { param: 'Idempotency-Key' });
  }
  return key === '' ? null : key;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes)
      throw new Refusal(413, { type: 'invalid_request_error', message: 'Request body too large.' });
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] ?? '').toString() : Buffer.concat(chunks).toString();
}

function readJson(body: string): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    throw invalidRequest('The body is not JSON.');
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
