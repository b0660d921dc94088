import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { parse as parseQuery } from 'node:querystring';
import { pipeline } from 'node:stream';
import { invalidRequest, Refusal } from '../refusal.ts';
import { randomText } from '../store/ids.ts';
import type { Bank } from './bank.ts';
import { cardFields, fieldsPrefix } from './card-fields.ts';
import type { Executor } from './execute.ts';
import { JoinedChunks } from './joined-chunks.ts';
import { codeOf, type RequestLine, readCallersRequestId, requestLine, type SeenRequest } from './request-line.ts';
import { matchRoute } from './route-table.ts';
import { isUpload, maxUploadBytes, readUpload } from './upload.ts';
import type { Witness } from './witness.ts';

export interface AppParts {
  secretKey: string;
  platformAccount: string;
  executor: Executor;
  witness: Witness;
  bank: Bank;
  onBug(error: unknown): void;
  /** Told of each request once it is answered, or its connection is gone. */
  onAnswered(line: RequestLine): void;
}

const maxBodyBytes = 1024 * 1024;
const maxKeyLength = 255;
const accountPattern = /^acct_[A-Za-z0-9]{8,64}$/;

interface Exchange extends SeenRequest {
  request: IncomingMessage;
  method: string;
  path: string;
  query: string;
}

/** The HTTP side: who asks, on which account, for which call; and how an answer goes out. */
export function sandboxApp(parts: AppParts): RequestListener {
  const bearer = Buffer.from(`Bearer ${parts.secretKey}`);
  const secret = Buffer.from(parts.secretKey);
  const fields = cardFields(parts.executor, parts.bank);

  return (request, response) => {
    const { method = '', url = '/' } = request;
    const question = url.indexOf('?');
    const exchange: Exchange = {
      request,
      response,
      method,
      path: question < 0 ? url : url.slice(0, question),
      query: question < 0 ? '' : url.slice(question + 1),
      ...{ startedAt: performance.now(), route: 'none' },
      callersRequestId: readCallersRequestId(headerOf(request, 'eligo-request-id')),
      headers: { 'Request-Id': `req_${randomText(14)}`, 'Content-Type': 'application/json; charset=utf-8' },
    };
    response.once('close', () => {
      if (exchange.path !== '/healthz') parts.onAnswered(requestLine(exchange));
    });
    answer(exchange).catch((error) => refuse(exchange, error));
  };

  async function answer(exchange: Exchange): Promise<void> {
    if (exchange.path.startsWith('/v1/')) await answerStripeCall(exchange);
    else if (exchange.path.startsWith(fieldsPrefix)) await answerFields(exchange);
    else if (exchange.path === '/healthz') send(exchange, 200, '{"status":"ok"}');
    else await answerWitnessCall(exchange);
  }

  function refuse(exchange: Exchange, error: unknown): void {
    // Whoever asked has gone while they asked.
    if (exchange.request.destroyed && !exchange.request.complete) return;
    if (!(error instanceof Refusal)) parts.onBug(error);
    const refusal =
      error instanceof Refusal ? error : new Refusal(500, { type: 'api_error', message: 'An unknown error occurred.' });
    exchange.code = refusal.body.code ?? refusal.body.type;
    send(exchange, refusal.status, JSON.stringify({ error: refusal.body }));
  }

  async function answerStripeCall(exchange: Exchange): Promise<void> {
    const { request, method, path, headers } = exchange;
    // A body takes memory, up to 10 MB of it.
    needSecretKey(request);
    const form = method === 'GET' ? exchange.query : await readForm(request, isUpload(method, path));
    const account = readAccount(request, parts.platformAccount);
    exchange.processorAccountId = account;
    const match = matchRoute(method, path);
    if (match === undefined) {
      throw new Refusal(404, {
        type: 'invalid_request_error',
        message: `Unrecognized request URL (${method}: ${path.slice(0, 200)}). If you are trying to list objects, remove the trailing slash.`,
      });
    }
    const idempotencyKey = method === 'POST' ? readIdempotencyKey(request) : null;
    const { route, id } = match;
    exchange.route = route.call;
    exchange.recordId = id || undefined;
    const requestId = String(headers['Request-Id']);
    const answer = await parts.executor.run({ route, id, method, path, form, account, idempotencyKey, requestId });
    if (answer === undefined) {
      request.socket.destroy();
      return;
    }
    echo(exchange, 'Stripe-Version');
    echo(exchange, 'Stripe-Account');
    echo(exchange, 'Idempotency-Key');
    if (answer.replayed) headers['Idempotent-Replayed'] = 'true';
    // What was stored will be replayed as it is: repeating a 500 under its key is of no use. A 409 is worth repeating.
    if (answer.status >= 500) headers['Stripe-Should-Retry'] = 'false';
    if (answer.status === 409) headers['Stripe-Should-Retry'] = 'true';
    if (answer.retryAfterSeconds !== undefined) {
      headers['Retry-After'] = answer.retryAfterSeconds;
      headers['Stripe-Rate-Limited-Reason'] = 'global-rate';
    }
    exchange.recordId ??= /^\{"id":"(\w{1,80})"/.exec(answer.body)?.[1];
    if (answer.status >= 400) exchange.code = codeOf(answer.body);
    send(exchange, answer.status, answer.body);
  }

  async function answerFields(exchange: Exchange): Promise<void> {
    const { request, method, path, query, headers } = exchange;
    exchange.route = 'fields';
    const body = method === 'POST' ? await readBody(request) : '';
    const answer = await fields(request, path, query, body);
    Object.assign(headers, answer.headers);
    send(exchange, answer.status, answer.body);
  }

  /**
   * `/sandbox/*` is for whoever tests and operates, with the key, also on this machine: any program and any page in a browser here would reach it
   * otherwise. A page that has its own name point at this machine sends that name as the host.
   */
  async function answerWitnessCall(exchange: Exchange): Promise<void> {
    const { request, response, method, path, headers } = exchange;
    exchange.route = 'witness';
    if (headerOf(request, 'origin') !== '' || !namesThisServer(request))
      throw new Refusal(403, { type: 'invalid_request_error', message: 'Requests from browsers are not allowed.' });
    needSecretKey(request);
    const body = method === 'GET' ? '' : await readBody(request);
    const told = await parts.witness(method, path, parseQuery(exchange.query), readJson(body));
    if (typeof told === 'string') {
      send(exchange, 200, told);
      return;
    }
    response.writeHead(200, headers);
    pipeline(told, response, (error) => {
      // One who stops reading is no bug.
      if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') parts.onBug(error);
    });
  }

  function needSecretKey(request: IncomingMessage): void {
    const authorization = headerOf(request, 'authorization');
    if (isSame(authorization, bearer)) return;
    const [scheme = '', credentials = ''] = authorization.split(' ', 2);
    const key =
      scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString().split(':')[0] : credentials;
    if (key !== undefined && isSame(key, secret)) return;
    throw new Refusal(401, {
      type: 'invalid_request_error',
      message: credentials === '' ? 'You did not provide an API key.' : 'Invalid API Key provided.',
    });
  }
}

// A name without a dot is one of a local network or of compose; no one else can have it resolve to an address here.
function namesThisServer(request: IncomingMessage): boolean {
  const name = headerOf(request, 'host').replace(/:\d+$/, '');
  return /^\[[0-9a-f:.]+\]$/i.test(name) || isIP(name) !== 0 || /^[a-z0-9-]+$/i.test(name);
}

function send({ response, headers }: Exchange, status: number, body: string | Buffer): void {
  headers['Content-Length'] = Buffer.byteLength(body);
  response.writeHead(status, headers);
  response.end(body);
}

function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

function echo({ request, headers }: Exchange, name: string): void {
  const value = headerOf(request, name.toLowerCase());
  if (value !== '') headers[name] = value;
}

/** In a time that says nothing of what they have in common but their length. */
function isSame(given: string, secret: Buffer): boolean {
  const bytes = Buffer.from(given);
  return bytes.length === secret.length && timingSafeEqual(bytes, secret);
}

function readAccount(request: IncomingMessage, platformAccount: string): string {
  const account = headerOf(request, 'stripe-account');
  if (account === '') return platformAccount;
  if (accountPattern.test(account)) return account;
  throw new Refusal(403, {
    type: 'invalid_request_error',
    code: 'account_invalid',
    message: 'The provided key does not have access to this account (or that account does not exist).',
  });
}

function readIdempotencyKey(request: IncomingMessage): string | null {
  const key = headerOf(request, 'idempotency-key');
  if (key.length > maxKeyLength) {
    throw invalidRequest(`Idempotency keys are at most ${maxKeyLength} characters long.`, { param: 'Idempotency-Key' });
  }
  return key === '' ? null : key;
}

async function readForm(request: IncomingMessage, upload: boolean): Promise<string> {
  return upload ? readUpload(request, await readBytes(request, maxUploadBytes)) : readBody(request);
}

async function readBody(request: IncomingMessage): Promise<string> {
  return String(await readBytes(request, maxBodyBytes));
}

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks = new JoinedChunks();
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes)
        reject(new Refusal(413, { type: 'invalid_request_error', message: 'Request body too large.' }));
      else chunks.add(chunk);
    });
    request.once('end', () => resolve(chunks.whole()));
    request.once('error', reject);
    request.once('close', () => {
      if (!request.complete) reject(new Error('The request was aborted'));
    });
  });
}

function readJson(body: string): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    throw invalidRequest('The body is not JSON.');
  }
}
