import type { ParsedUrlQuery } from 'node:querystring';
import { Readable } from 'node:stream';
import { openDispute } from '../api/dispute-opening.ts';
import { decideDispute } from '../api/disputes.ts';
import { approve, decline } from '../api/intent-confirmation.ts';
import { failRefund, succeedRefund } from '../api/refunds.ts';
import type { Call } from '../api/route.ts';
import { confirmSetupIntent } from '../api/setup-intents.ts';
import type { Faults } from '../faults.ts';
import { invalidRequest, missingRecord, Refusal } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { Write } from '../store/group-commit.ts';
import type { ChargeRecord, RefundRecord } from '../store/record-types.ts';
import type { Records } from '../store/records.ts';

/** Answers a call under `/sandbox/`; gives the body. */
export type Witness = (
  method: string,
  path: string,
  query: ParsedUrlQuery,
  body: unknown,
) => Promise<string | Readable>;

export interface WitnessParts {
  records: Records;
  faults: Faults;
  write: Write;
  advanceKeyClock(ms: number): number;
  /** A call on behalf of the issuer, on the account of the record that it is about. */
  openCall(account: string): { call: Call; settle: () => void };
}

const maxAdvanceMs = 10 * 365 * 24 * 60 * 60 * 1000;
const pathPattern = /^\/sandbox\/([a-z]+)(?:\/([A-Za-z0-9_]+)(?:\/([a-z]+))?)?$/;

/**
 * What no processor offers, and tests need: the list of all charges and refunds of all accounts (the independent witness),
 * faults, the clock of the keys, and what a bank would do by itself: fail a refund, dispute a charge, let a shopper
 * authenticate.
 */
export function createWitness(parts: WitnessParts): Witness {
  const { records, faults } = parts;

  async function act<Result>(account: string, work: (call: Call) => Result): Promise<Result> {
    const { call, settle } = parts.openCall(account);
    const result = await parts.write(() => work(call));
    settle();
    return result;
  }

  return async (method, path, query, body) => {
    const [, noun = '', id = '', verb = ''] = pathPattern.exec(path) ?? [];
    const fields = isRecord(body) ? body : {};
    switch (`${method} ${noun}${id && ' :id'}${verb && ` ${verb}`}`) {
      case 'GET charges':
        return listed(records.all('charge', accountIn(query)), chargeRow);
      case 'GET refunds':
        return listed(records.all('refund', accountIn(query)), refundRow);
      case 'GET faults':
        return JSON.stringify({ data: faults.list() });
      case 'POST faults':
        return JSON.stringify({ fault: faults.arm(body) });
      case 'DELETE faults':
        faults.clear();
        return JSON.stringify({ data: [] });
      case 'POST clock':
        return JSON.stringify({ ahead_ms: parts.advanceKeyClock(readAdvance(fields)) });
      case 'POST refunds :id fail': {
        const refund = need(records.locate('refund', id), 'refund', id);
        if (refund.status !== 'pending' && refund.status !== 'succeeded')
          throw invalidRequest('This refund has already settled.');
        return JSON.stringify(
          shape('refund', await act(refund.account, (call) => failRefund(call, refund, 'unknown'))),
        );
      }
      case 'POST refunds :id succeed': {
        const refund = need(records.locate('refund', id), 'refund', id);
        if (refund.status === 'succeeded') return JSON.stringify(shape('refund', refund));
        if (refund.status !== 'pending') throw invalidRequest('This refund has already settled.');
        return JSON.stringify(shape('refund', await act(refund.account, (call) => succeedRefund(call, refund))));
      }
      case 'POST disputes':
        return disputeCharge(fields);
      case 'POST disputes :id win':
      case 'POST disputes :id lose': {
        const dispute = need(records.locate('dispute', id), 'dispute', id);
        if (dispute.status === 'won' || dispute.status === 'lost')
          throw invalidRequest('This dispute is already closed.');
        const decided = await act(dispute.account, (call) =>
          decideDispute(call, dispute, verb === 'win' ? 'won' : 'lost'),
        );
        return JSON.stringify(shape('dispute', decided));
      }
      case 'POST authentications :id':
        return authenticate(id, fields.outcome !== 'failure');
      default:
        throw new Refusal(404, { type: 'invalid_request_error', message: 'The sandbox has no such endpoint.' });
    }
  };

  async function disputeCharge(fields: Record<string, unknown>): Promise<string> {
    const given = isRecord(fields.dispute) ? fields.dispute : fields;
    const { charge: chargeId, amount, reason } = given;
    if (typeof chargeId !== 'string') throw invalidRequest('Missing required param: charge.', { param: 'charge' });
    if (amount !== undefined && amount !== null && !Number.isSafeInteger(amount)) {
      throw invalidRequest('amount must be whole cents.', { param: 'amount' });
    }
    const charge = need(records.locate('charge', chargeId), 'charge', chargeId);
    const dispute = await act(charge.account, (call) =>
      openDispute(call, charge.id, {
        amount: typeof amount === 'number' ? amount : undefined,
        reason: typeof reason === 'string' ? reason : 'fraudulent',
      }),
    );
    return JSON.stringify(shape('dispute', dispute));
  }

  /** The shopper passes the bank's check, or fails it. */
  async function authenticate(id: string, passed: boolean): Promise<string> {
    if (id.startsWith('seti_')) {
      const setup = need(records.locate('setup_intent', id), 'setup_intent', id);
      if (setup.status !== 'requires_action') throw invalidRequest('No payment is waiting for authentication.');
      const failed = { ...setup, status: 'requires_payment_method' as const, paymentMethod: null };
      const done = await act(setup.account, (call) => {
        if (passed) return confirmSetupIntent(call, setup, true);
        call.records.update('setup_intent', failed);
        call.emit('setup_intent.setup_failed', 'setup_intent', failed);
        return failed;
      });
      return JSON.stringify(shape('setup_intent', done));
    }
    const intent = need(records.locate('payment_intent', id), 'payment_intent', id);
    if (intent.status !== 'requires_action') throw invalidRequest('No payment is waiting for authentication.');
    const method = need(records.locate('payment_method', intent.paymentMethod ?? ''), 'payment_method', '');
    await act(intent.account, (call) => {
      if (passed) approve(call, intent, method);
      else decline(call, intent, method, failedAuthentication);
    });
    return JSON.stringify(shape('payment_intent', need(records.locate('payment_intent', id), 'payment_intent', id)));
  }
}

const failedAuthentication = {
  kind: 'decline',
  code: 'payment_intent_authentication_failure',
  declineCode: 'authentication_failed',
  message: 'The provided payment method has failed authentication.',
} as const;

function chargeRow(charge: ChargeRecord): object {
  return {
    id: charge.id,
    account: charge.account,
    amount: charge.amount,
    amount_captured: charge.amountCaptured,
    amount_refunded: charge.amountRefunded,
    status: charge.status,
    captured: charge.captured,
    released: charge.released,
    disputed: charge.disputed,
    payment_intent: charge.paymentIntent,
    payment_method: charge.paymentMethod,
    customer: charge.customer,
    card: charge.card,
    failure_code: charge.failureCode,
    decline_code: charge.declineCode,
    idempotency_key: charge.idempotencyKey,
    metadata: charge.metadata,
    created: charge.created,
  };
}

function refundRow(refund: RefundRecord): object {
  return {
    id: refund.id,
    account: refund.account,
    amount: refund.amount,
    status: refund.status,
    charge: refund.charge,
    payment_intent: refund.paymentIntent,
    idempotency_key: refund.idempotencyKey,
    metadata: refund.metadata,
    created: refund.created,
  };
}

function accountIn({ account }: ParsedUrlQuery): string | undefined {
  return typeof account === 'string' ? account : undefined;
}

/** `{data: […]}` written piece by piece, so that a million rows need no more memory than one. */
function listed<Row>(rows: Iterable<Row>, render: (row: Row) => object): Readable {
  return Readable.from(
    (function* () {
      yield '{"data":[';
      let separator = '';
      for (const row of rows) {
        yield separator + JSON.stringify(render(row));
        separator = ',\n';
      }
      yield ']}';
    })(),
  );
}

function readAdvance(fields: Record<string, unknown>): number {
  const ms = fields.advance_ms;
  if (typeof ms === 'number' && Number.isSafeInteger(ms) && ms >= 0 && ms <= maxAdvanceMs) return ms;
  throw invalidRequest('advance_ms must be a whole number of milliseconds, not negative.', { param: 'advance_ms' });
}

function need<Found>(found: Found | undefined, kind: string, id: string): Found {
  if (found === undefined) throw missingRecord(kind, id);
  return found;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
