// A processor that answers at once, in Stripe's shapes: what is measured is Eligo, not a simulated bank.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '@eligo/values';
import { serve } from './worker.ts';

export type StubProcessor = {
  open(input: null): Promise<number>;
  /** From now on each answer takes so long. */
  slow(delayMs: number): void;
};

let delayMs = 0;

const methods: StubProcessor = {
  open,
  slow(ms) {
    delayMs = ms;
  },
};

if (process.send !== undefined) serve(methods);

type Answer = Record<string, unknown>;

const intents = new Map<string, Answer>();

async function open(): Promise<number> {
  const server = createServer((request, response) => answer(request, response));
  server.keepAliveTimeout = 120_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  let text = '';
  request.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  request.on('end', async () => {
    if (delayMs > 0) await pause(delayMs);
    const path = (request.url ?? '').split('?')[0] ?? '';
    const found = answerTo(request.method ?? '', path.split('/').slice(2), new URLSearchParams(text), text);
    const body = JSON.stringify(found ?? { error: { type: 'invalid_request_error', message: `no ${path}` } });
    response.writeHead(found === undefined ? 404 : 200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
}

function answerTo(
  method: string,
  [kind, id, action]: string[],
  fields: URLSearchParams,
  text: string,
): Answer | undefined {
  const isPost = method === 'POST';
  if (kind === 'customers') return isPost ? { id: stubId('cus'), object: 'customer' } : { object: 'list', data: [] };
  if (kind === 'payment_methods' && isPost) return paymentMethod(id ?? stubId('pm'), fields);
  if (kind === 'payment_methods' && id?.startsWith('pm_page')) return paymentMethod(id, fields);
  if (kind === 'payment_intents' && isPost && id === undefined) return createIntent(fields);
  if (kind === 'payment_intents' && id !== undefined) return isPost ? actOnIntent(id, action, fields) : intents.get(id);
  if (kind === 'setup_intents' && isPost) return setup(id, action, fields);
  if (kind === 'refunds') return isPost ? refund(fields) : refunds.get(id ?? '');
  if (kind === 'balance_transactions' && id === undefined) return { object: 'list', data: [], has_more: false };
  if (kind === 'disputes' && id === undefined) return isPost ? openDispute(text) : undefined;
  if (kind === 'disputes') return isPost ? answerDispute(id ?? '', action, fields) : disputes.get(id ?? '');
  if (kind === 'payouts') return isPost ? payOut() : payouts.get(id ?? '');
  return undefined;
}

/** Like an identifier of Eligo's own, so that a replay finds it in a recorded statement and makes another of it. */
function stubId(prefix: string): string {
  return `${prefix}_${newId('request').slice(-26)}`;
}

/** How the identifier of an ordinary card begins that was typed on a page; that of a health card has `health` there. */
const typedOther = 'pm_pageother';

function paymentMethod(id: string, fields: URLSearchParams): Answer {
  const isHealth = fields.get('card[token]') !== 'tok_visa' && !id.startsWith(typedOther);
  return {
    ...{ id, object: 'payment_method', type: 'card', customer: fields.get('customer'), livemode: false, metadata: {} },
    billing_details: { name: null, email: null, phone: null, address: null },
    card: {
      ...{ brand: 'visa', country: 'US', exp_month: 12, exp_year: 2040, funding: 'debit', last4: '0072' },
      description: isHealth ? 'Visa Healthcare HSA' : 'Visa Classic',
    },
  };
}

function createIntent(fields: URLSearchParams): Answer {
  const id = stubId('pi');
  const amount = Number(fields.get('amount'));
  const metadata = metadataOf(fields);
  const customer = fields.get('customer');
  const intent = {
    ...{ id, object: 'payment_intent', amount, amount_capturable: 0, amount_received: 0, currency: 'usd', customer },
    ...{ metadata, payment_method: fields.get('payment_method'), client_secret: `${id}_secret`, next_action: null },
    ...{ status: 'requires_confirmation', latest_charge: null, last_payment_error: null },
    capture_method: fields.get('capture_method'),
  };
  intents.set(id, intent);
  return intent;
}

// An intent that is captured or canceled is read by nobody that is measured: a run of any length keeps little.
function actOnIntent(id: string, action: string | undefined, fields: URLSearchParams): Answer | undefined {
  const intent = intents.get(id);
  if (intent === undefined) return undefined;
  if (action === 'confirm' && intent.capture_method === 'manual') {
    const latest_charge = stubId('ch');
    const held = { ...intent, status: 'requires_capture', amount_capturable: intent.amount, latest_charge };
    intents.set(id, held);
    return held;
  }
  intents.delete(id);
  switch (action) {
    case 'confirm': {
      const latest_charge = stubId('ch');
      noteCharge(latest_charge, id);
      return { ...intent, status: 'succeeded', amount_received: intent.amount, latest_charge };
    }
    case 'capture': {
      const amount_received = Number(fields.get('amount_to_capture') ?? intent.amount);
      return { ...intent, status: 'succeeded', amount_capturable: 0, amount_received };
    }
    case 'cancel':
      return { ...intent, status: 'canceled', amount_capturable: 0 };
    default:
      return undefined;
  }
}

/** Cards that are set up, by the identifier of their setup intent. */
const setups = new Map<string, Answer>();

function setup(id: string | undefined, action: string | undefined, fields: URLSearchParams): Answer | undefined {
  if (id !== undefined) {
    const known = setups.get(id);
    setups.delete(id);
    return action === 'confirm' && known !== undefined ? { ...known, status: 'succeeded' } : undefined;
  }
  const setupId = stubId('seti');
  const made = {
    ...{ id: setupId, object: 'setup_intent', status: 'requires_confirmation', client_secret: `${setupId}_secret` },
    ...{ customer: fields.get('customer'), payment_method: fields.get('payment_method') },
    ...{ next_action: null, last_setup_error: null, metadata: metadataOf(fields) },
  };
  setups.set(setupId, made);
  return made;
}

/** The latest refunds, of which alone events are sent here. */
const refunds = new Map<string, Answer>();
const mostRefunds = 2_000;

function refund(fields: URLSearchParams): Answer {
  const id = stubId('re');
  const made = {
    ...{ id, object: 'refund', amount: Number(fields.get('amount')), currency: 'usd', charge: stubId('ch') },
    ...{ payment_intent: fields.get('payment_intent'), status: 'succeeded', balance_transaction: stubId('txn') },
    metadata: metadataOf(fields),
  };
  refunds.set(id, made);
  const [oldest] = refunds.keys();
  if (refunds.size > mostRefunds && oldest !== undefined) refunds.delete(oldest);
  return made;
}

/** The intents of the latest charges, which alone are disputed here. */
const intentOfCharge = new Map<string, string>();
const mostCharges = 10_000;

function noteCharge(charge: string, intent: string): void {
  intentOfCharge.set(charge, intent);
  const [oldest] = intentOfCharge.keys();
  if (intentOfCharge.size > mostCharges && oldest !== undefined) intentOfCharge.delete(oldest);
}

const disputes = new Map<string, Answer>();

// The sandbox's own call, in JSON.
function openDispute(text: string): Answer | undefined {
  const { dispute } = JSON.parse(text) as { dispute: { charge: string; amount?: number } };
  const intent = intentOfCharge.get(dispute.charge);
  if (intent === undefined) return undefined;
  const id = stubId('du');
  const amount = dispute.amount ?? 100;
  const created = nowSeconds();
  const withdrawn = {
    ...{ id: stubId('txn'), object: 'balance_transaction', type: 'adjustment', status: 'available', source: id },
    ...{ amount: -amount, fee: 0, fee_details: [], net: -amount, currency: 'usd', created, available_on: created },
  };
  const opened = {
    ...{ id, object: 'dispute', amount, currency: 'usd', charge: dispute.charge },
    ...{ payment_intent: intent, status: 'needs_response', reason: 'fraudulent', evidence: {}, metadata: {} },
    ...{ balance_transactions: [withdrawn], created },
    evidence_details: { due_by: 4_102_444_800, has_evidence: false, past_due: false, submission_count: 0 },
  };
  disputes.set(id, opened);
  return opened;
}

function answerDispute(id: string, action: string | undefined, fields: URLSearchParams): Answer | undefined {
  const known = disputes.get(id);
  if (known === undefined) return undefined;
  const given = [...fields].flatMap(([name, value]) => {
    const key = /^evidence\[(.+)\]$/.exec(name)?.[1];
    return key === undefined ? [] : [[key, value]];
  });
  const answered =
    action === 'close' ? { ...known, status: 'lost' } : { ...known, evidence: Object.fromEntries(given) };
  disputes.set(id, answered);
  return answered;
}

const payouts = new Map<string, Answer>();

// The sandbox's own call. No charge is on a balance here, so each payout is of the same amount.
function payOut(): Answer {
  const id = stubId('po');
  const created = nowSeconds();
  const made = {
    ...{ id, object: 'payout', amount: 1_000, currency: 'usd', status: 'paid', automatic: true, metadata: {} },
    ...{ balance_transaction: stubId('txn'), failure_code: null, arrival_date: created, created },
  };
  payouts.set(id, made);
  return made;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

function metadataOf(fields: URLSearchParams): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [name, value] of fields) {
    const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
    if (key !== undefined) metadata[key] = value;
  }
  return metadata;
}
