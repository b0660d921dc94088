import type { ParsedUrlQuery } from 'node:querystring';
import { Readable } from 'node:stream';
import { replaceCard } from '../api/card-update.ts';
import { tellToken } from '../api/confirmation-tokens.ts';
import { openDispute } from '../api/dispute-opening.ts';
import { moveDispute } from '../api/disputes.ts';
import { failPayout, payOut } from '../api/payouts.ts';
import { failRefund, succeedRefund } from '../api/refunds.ts';
import type { Call } from '../api/route.ts';
import type { Faults } from '../faults.ts';
import { invalidRequest, missingRecord, Refusal } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { Write } from '../store/group-commit.ts';
import type { ChargeRecord, RecordOf, RefundRecord } from '../store/record-types.ts';
import type { ListedKind, Records } from '../store/records.ts';
import { actOn, type Bank } from './bank.ts';

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
  bank: Bank;
  write: Write;
  /** Advances the clock of keys and holds, lapses the holds whose time is over by then, and makes the payouts that are due. Gives how far it is ahead. */
  advanceClock(ms: number): Promise<number>;
  /** A call on behalf of the issuer, on the account of the record that it is about. */
  openCall(account: string): { call: Call; settle: () => void };
}

const maxAdvanceMs = 10 * 365 * 24 * 60 * 60 * 1000;
/** Some 700 kB. */
const longestPage = 1_000;
const pathPattern = /^\/sandbox\/([a-z]+)(?:\/([A-Za-z0-9_]+)(?:\/([a-z]+))?)?$/;

/**
 * What no processor offers, and tests need: the list of all charges, refunds and files of all accounts (the independent witness),
 * faults, the clock of keys and holds, and what a bank would do by itself: fail a refund, dispute a charge, let a shopper
 * authenticate, take a payout or give it back.
 */
export function createWitness(parts: WitnessParts): Witness {
  const { records, faults } = parts;

  const act = <Result>(account: string, work: (call: Call) => Result) => actOn(parts, account, work);

  return async (method, path, query, body) => {
    const [, noun = '', id = '', verb = ''] = pathPattern.exec(path) ?? [];
    const fields = isRecord(body) ? body : {};
    switch (`${method} ${noun}${id && ' :id'}${verb && ` ${verb}`}`) {
      case 'GET charges':
        return listOf('charge', query, chargeRow);
      case 'GET refunds':
        return listOf('refund', query, refundRow);
      case 'GET files':
        return listOf('file', query, (file) => file);
      case 'GET faults':
        return JSON.stringify({ data: faults.list() });
      case 'POST faults':
        return JSON.stringify({ fault: faults.arm(body) });
      case 'DELETE faults':
        faults.clear();
        return JSON.stringify({ data: [] });
      case 'POST clock':
        return JSON.stringify({ ahead_ms: await parts.advanceClock(readAdvance(fields)) });
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
      case 'POST disputes :id lose':
      case 'POST disputes :id move': {
        const dispute = need(records.locate('dispute', id), 'dispute', id);
        const status = verb === 'move' ? fields.status : verb === 'win' ? 'won' : 'lost';
        if (typeof status !== 'string' || !/^[a-z_]{1,50}$/.test(status)) {
          throw invalidRequest('status must be the name of a status.', { param: 'status' });
        }
        if (verb !== 'move' && (dispute.status === 'won' || dispute.status === 'lost'))
          throw invalidRequest('This dispute is already closed.');
        const moved = await act(dispute.account, (call) => moveDispute(call, dispute, status));
        return JSON.stringify(shape('dispute', moved));
      }
      case 'POST payouts': {
        const { account } = fields;
        if (typeof account !== 'string') throw invalidRequest('Missing required param: account.', { param: 'account' });
        // Also what is not available yet, which an account's balance has from two days on.
        const payout = await act(account, (call) => payOut(call, Number.MAX_SAFE_INTEGER));
        if (payout === undefined) throw invalidRequest('The account has nothing to pay out.');
        return JSON.stringify(shape('payout', payout));
      }
      case 'POST payouts :id fail': {
        const payout = need(records.locate('payout', id), 'payout', id);
        return JSON.stringify(shape('payout', await act(payout.account, (call) => failPayout(call, payout))));
      }
      case 'POST cards :id update': {
        const method = need(records.locate('payment_method', id), 'payment_method', id);
        const name = typeof fields.card === 'string' ? fields.card : 'visa';
        const updated = await act(method.account, (call) => replaceCard(call, method, name));
        return JSON.stringify(shape('payment_method', updated));
      }
      case 'POST tokens :id elements': {
        const { capture_method: captureMethod } = fields;
        if (captureMethod !== 'automatic' && captureMethod !== 'manual')
          throw invalidRequest('capture_method must be automatic or manual.', { param: 'capture_method' });
        const token = need(records.locate('confirmation_token', id), 'confirmation_token', id);
        const told = await act(token.account, (call) => tellToken(call, token, captureMethod));
        return JSON.stringify(shape('confirmation_token', told));
      }
      case 'POST authentications :id':
        return parts.bank.authenticate(id, fields.outcome !== 'failure');
      default:
        throw new Refusal(404, { type: 'invalid_request_error', message: 'The sandbox has no such endpoint.' });
    }
  };

  function listOf<Kind extends ListedKind>(
    kind: Kind,
    query: ParsedUrlQuery,
    render: (record: RecordOf<Kind>) => object,
  ): string | Readable {
    const [limit, account] = [limitIn(query), textIn(query, 'account')];
    if (limit === undefined) return listed(records.all(kind, account), render);
    return pageOf(records.all(kind, account, textIn(query, 'starting_after')), limit, render);
  }

  async function disputeCharge(fields: Record<string, unknown>): Promise<string> {
    const given = isRecord(fields.dispute) ? fields.dispute : fields;
    const { charge: chargeId, amount, reason, inquiry } = given;
    if (typeof chargeId !== 'string') throw invalidRequest('Missing required param: charge.', { param: 'charge' });
    if (amount !== undefined && amount !== null && !Number.isSafeInteger(amount)) {
      throw invalidRequest('amount must be whole cents.', { param: 'amount' });
    }
    const charge = need(records.locate('charge', chargeId), 'charge', chargeId);
    const dispute = await act(charge.account, (call) =>
      openDispute(call, charge.id, {
        amount: typeof amount === 'number' ? amount : undefined,
        reason: typeof reason === 'string' ? reason : 'fraudulent',
        inquiry: inquiry === true,
      }),
    );
    return JSON.stringify(shape('dispute', dispute));
  }
}

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

function textIn(query: ParsedUrlQuery, name: string): string | undefined {
  const text = query[name];
  return typeof text === 'string' ? text : undefined;
}

function limitIn(query: ParsedUrlQuery): number | undefined {
  const limit = textIn(query, 'limit');
  if (limit === undefined) return undefined;
  if (/^[1-9]\d{0,3}$/.test(limit) && Number(limit) <= longestPage) return Number(limit);
  throw invalidRequest(`limit must be a number from 1 to ${longestPage}.`, { param: 'limit' });
}

/** `{data: […], has_more}`, oldest first. */
function pageOf<Row>(rows: Iterable<Row>, limit: number, render: (row: Row) => object): string {
  const data: object[] = [];
  for (const row of rows) {
    if (data.length === limit) return JSON.stringify({ data, has_more: true });
    data.push(render(row));
  }
  return JSON.stringify({ data, has_more: false });
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
