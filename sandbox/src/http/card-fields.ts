import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { invalidRequest, Refusal } from '../refusal.ts';
import type { Bank } from './bank.ts';
import type { Executor } from './execute.ts';
import { matchRoute } from './route-table.ts';

/** Every path of the card fields begins with it. */
export const fieldsPrefix = '/fields/';

/** What the fields answer with. */
export interface FieldsAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const accountForm = /^acct_[A-Za-z0-9]{8,64}$/;

/**
 * The card fields of the sandbox: a document for a frame in the checkout page of a shop, and the call by which it makes a payment method. A number that is
 * typed there is sent to this origin alone. As with a publishable key, who knows an account may make payment methods in it, and nothing else. Who has the client
 * secret of a set-up intent may set such a card up. A second document is the bank's, which asks the shopper to authenticate: it needs the client secret of the intent.
 */
export function cardFields(executor: Executor, bank: Bank) {
  return async (request: IncomingMessage, path: string, query: string, body: string): Promise<FieldsAnswer> => {
    const name = path.slice(fieldsPrefix.length);
    if (request.method === 'POST' && name === 'payment_methods') return tokenize(executor, request, body);
    if (request.method === 'POST' && name === 'set_ups') return setUp(bank, request, body);
    if (request.method === 'POST' && name === 'authentications') return authenticate(bank, request, body);
    if (request.method !== 'GET') throw new Refusal(405, { type: 'invalid_request_error', message: 'Not allowed.' });
    const parameters = new URLSearchParams(query);
    if (name === 'card') {
      if (!accountForm.test(parameters.get('account') ?? '')) throw invalidRequest('The card fields need an account.');
      return documentFor('fields', parameters, request);
    }
    if (name === 'challenge') return documentFor('challenge', parameters, request);
    throw new Refusal(404, { type: 'invalid_request_error', message: 'There is no such file.' });
  };
}

const folder = new URL('../../../web/checkout/dist/', import.meta.url);
const sniffed = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' };

// Only the page that is named may show the frame; the frame's messages go to that page alone. Its script and style are inside it and allowed by their hashes.
function documentFor(name: 'fields' | 'challenge', query: URLSearchParams, { headers }: IncomingMessage): FieldsAnswer {
  const parent = query.get('parent') ?? '';
  if (!URL.canParse(parent) || new URL(parent).origin !== parent) {
    throw invalidRequest('The fields need the origin of their page.');
  }
  const { text, gzipped, scriptHash, styleHash } = documentNamed(name);
  const isGzipped = /\bgzip\b/.test(headers['accept-encoding']?.toString() ?? '');
  const policy = [
    "default-src 'none'",
    `script-src '${scriptHash}'`,
    `style-src '${styleHash}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${parent}`,
  ].join('; ');
  return {
    status: 200,
    body: isGzipped ? gzipped : text,
    headers: {
      ...sniffed,
      ...(isGzipped ? { 'Content-Encoding': 'gzip' } : {}),
      Vary: 'Accept-Encoding',
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy,
    },
  };
}

interface FrameDocument {
  readonly text: string;
  readonly gzipped: Buffer;
  readonly scriptHash: string;
  readonly styleHash: string;
}

const documents = new Map<string, FrameDocument>();

// Read when the first frame is asked for.
function documentNamed(name: 'fields' | 'challenge'): FrameDocument {
  const known = documents.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(new URL(`${name}.html`, folder), 'utf8');
  const hashOf = (element: string) => {
    const [, content] = new RegExp(`<${element}>(.*?)</${element}>`, 's').exec(text) ?? [];
    if (content === undefined) throw new Error(`The build of web/checkout has no ${element} in ${name}.html`);
    return `sha256-${createHash('sha256').update(content).digest('base64')}`;
  };
  const made = {
    text,
    gzipped: gzipSync(text, { level: 9 }),
    scriptHash: hashOf('script'),
    styleHash: hashOf('style'),
  };
  documents.set(name, made);
  return made;
}

function isOwn(origin: string | undefined, host: string | undefined): boolean {
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}

interface Typed {
  readonly account: string;
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly cvc: string;
}

// A page of another origin would have to ask first (CORS), and is never allowed.
function refuseStrangers({ headers }: IncomingMessage): void {
  if (headers['content-type'] !== 'application/json' || !isOwn(headers.origin, headers.host)) {
    throw new Refusal(403, { type: 'invalid_request_error', message: 'Only the card fields may make this request.' });
  }
}

// The shopper answers the bank of the card. Who has the intent's client secret is that shopper.
async function authenticate(bank: Bank, request: IncomingMessage, body: string): Promise<FieldsAnswer> {
  refuseStrangers(request);
  const { client_secret: secret, outcome } = readJson(body) as { client_secret?: unknown; outcome?: unknown };
  if (typeof secret !== 'string' || (outcome !== 'success' && outcome !== 'failure')) {
    throw invalidRequest('An answer to the bank needs a client secret and an outcome.');
  }
  await bank.authenticate(bank.intentOf(secret), outcome === 'success');
  return { status: 200, body: '{}', headers: { ...sniffed, 'Cache-Control': 'no-store' } };
}

// The customer sets a card up. Who has the set-up intent's client secret is that customer.
async function setUp(bank: Bank, request: IncomingMessage, body: string): Promise<FieldsAnswer> {
  refuseStrangers(request);
  const { client_secret: secret, payment_method: method } = readJson(body) as Record<string, unknown>;
  if (typeof secret !== 'string' || typeof method !== 'string' || !secret.startsWith('seti_')) {
    throw invalidRequest('A set-up needs the client secret of a set-up intent and a payment method.');
  }
  const { status } = JSON.parse(await bank.setUp(bank.intentOf(secret), method)) as { status: string };
  return { status: 200, body: JSON.stringify({ status }), headers: { ...sniffed, 'Cache-Control': 'no-store' } };
}

async function tokenize(executor: Executor, request: IncomingMessage, body: string): Promise<FieldsAnswer> {
  refuseStrangers(request);
  const { account, number, expMonth, expYear, cvc } = readTyped(body);
  const path = '/v1/payment_methods';
  const match = matchRoute('POST', path);
  if (match === undefined) throw new Error('The sandbox has no route for payment methods');
  const form = new URLSearchParams({
    type: 'card',
    'card[number]': number,
    'card[exp_month]': String(expMonth),
    'card[exp_year]': String(expYear),
    'card[cvc]': cvc,
  }).toString();
  const answer = await executor.run({
    ...{ route: match.route, id: match.id, method: 'POST', path, form, account },
    ...{ idempotencyKey: null, requestId: 'req_card_fields' },
  });
  if (answer === undefined) throw new Refusal(503, { type: 'api_error', message: 'The connection was lost.' });
  return {
    status: answer.status,
    body: summaryOf(answer.status, answer.body),
    headers: { ...sniffed, 'Cache-Control': 'no-store' },
  };
}

function readTyped(body: string): Typed {
  const { account, number, expMonth, expYear, cvc } = readJson(body) as Partial<Record<keyof Typed, unknown>>;
  const isSound =
    typeof account === 'string' &&
    accountForm.test(account) &&
    typeof number === 'string' &&
    /^\d{12,19}$/.test(number) &&
    typeof cvc === 'string' &&
    /^\d{3,4}$/.test(cvc) &&
    Number.isInteger(expMonth) &&
    Number.isInteger(expYear);
  if (!isSound) throw invalidRequest('The card is incomplete.', { code: 'incomplete_card' });
  return { account, number, expMonth: Number(expMonth), expYear: Number(expYear), cvc };
}

function readJson(body: string): object {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    throw invalidRequest('The body is not JSON.');
  }
}

// The frame needs the identifier and what it may show, and of a refusal its code.
function summaryOf(status: number, body: string): string {
  const answer = JSON.parse(body) as {
    id?: string;
    card?: { brand: string; last4: string };
    error?: { code?: string; decline_code?: string };
  };
  if (status === 200) return JSON.stringify({ id: answer.id, brand: answer.card?.brand, last4: answer.card?.last4 });
  return JSON.stringify({ error: answer.error?.decline_code ?? answer.error?.code ?? 'refused' });
}
