import type Stripe from 'stripe';
import type { Caller } from './call.ts';
import { notNow, unknown } from './error-outcome.ts';
import { disputeFacts, payoutFacts, refundOutcome } from './facts.ts';
import { requestIdHeader } from './http-client.ts';
import type { DisputeOutcome, NotNow, PayoutOutcome, Rejected, Unknown } from './outcomes.ts';
import type { TestBank, TestCardName } from './port.ts';
import { foundPaymentMethod, paymentMethodParams } from './stripe-port.ts';

const answerTimeoutMs = 6_000;

/** The sandbox's token of each card by its name in Eligo's test helpers. */
const tokens: Record<TestCardName, string> = {
  hsa: 'tok_hsa',
  fsa: 'tok_fsa',
  credit: 'tok_visa',
  debit: 'tok_debit',
  undescribed: 'tok_undescribed',
  single_capture: 'tok_singleCapture',
  mastercard: 'tok_mastercard',
  declined: 'tok_chargeDeclined',
  hsa_declined: 'tok_hsaDeclined',
  hsa_insufficient_funds: 'tok_hsaInsufficientFunds',
  hsa_short: 'tok_hsaShort',
  insufficient_funds: 'tok_chargeDeclinedInsufficientFunds',
  authentication_required: 'tok_authenticationRequired',
  authentication_supported: 'tok_authenticationSupported',
  expired_card: 'tok_chargeDeclinedExpiredCard',
  dispute: 'tok_createDispute',
  refund_pending: 'tok_pendingRefund',
  refund_fails: 'tok_refundFail',
};

// The test helper attaches cards that decline a charge, too: the sandbox asks no issuer about them.
const unchecked = { sandbox_attach_unchecked: 'true' };

export function isTestCardName(name: string): name is TestCardName {
  return Object.hasOwn(tokens, name);
}

/** The sandbox's own calls, beside Stripe's. */
export function createTestBank(parts: {
  url: string;
  secretKey: string;
  /** The connected account whose bank it is. */
  account: string;
  stripe: Stripe;
  call: Caller;
  beforeCall: () => void;
  requestId: (() => string | undefined) | undefined;
}): TestBank {
  async function ask<Answer, Outcome>(
    path: string,
    body: object,
    read: (answer: Answer) => Outcome,
  ): Promise<Outcome | Rejected | NotNow | Unknown> {
    parts.beforeCall();
    const told = parts.requestId?.();
    let answer: Response;
    let json: unknown;
    try {
      answer = await fetch(new URL(path, parts.url), {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${parts.secretKey}`, 'content-type': 'application/json' },
          ...(told === undefined ? {} : { [requestIdHeader]: told }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
      json = await answer.json();
    } catch {
      return unknown('connection', true);
    }
    if (answer.ok) return read(json as Answer);
    if (answer.status >= 500) return unknown('server_error', true);
    if (answer.status === 429) return notNow(answer.headers.get('retry-after'));
    const { error } = json as { error?: { code?: string; type?: string; param?: string } };
    return {
      kind: 'rejected',
      code: error?.code ?? error?.type ?? 'refused',
      status: answer.status,
      param: error?.param,
    };
  }

  const found = (dispute: Stripe.Dispute): DisputeOutcome => ({ kind: 'found', ...disputeFacts(dispute) });
  const foundPayout = (payout: Stripe.Payout): PayoutOutcome => ({ kind: 'found', ...payoutFacts(payout) });
  return {
    createPaymentMethod: ({ card, billing }, options) =>
      parts.call(
        'payment_methods.create',
        options,
        (request) => parts.stripe.paymentMethods.create(paymentMethodParams(tokens[card], billing, unchecked), request),
        foundPaymentMethod,
      ),
    failRefund: (id) => ask(`/sandbox/refunds/${id}/fail`, {}, refundOutcome),
    succeedRefund: (id) => ask(`/sandbox/refunds/${id}/succeed`, {}, refundOutcome),
    disputeCharge: ({ chargeId, amountCents, reason, inquiry }) =>
      ask('/sandbox/disputes', { dispute: { charge: chargeId, amount: amountCents, reason, inquiry } }, found),
    moveDispute: (id, status) => ask(`/sandbox/disputes/${id}/move`, { status }, found),
    decideDispute: (id, outcome) => ask(`/sandbox/disputes/${id}/${outcome === 'won' ? 'win' : 'lose'}`, {}, found),
    payOut: () => ask('/sandbox/payouts', { account: parts.account }, foundPayout),
    failPayout: (id) => ask(`/sandbox/payouts/${id}/fail`, {}, foundPayout),
    authenticate: (id, passed) =>
      ask(`/sandbox/authentications/${id}`, { outcome: passed ? 'success' : 'failure' }, () => ({
        kind: 'done' as const,
      })),
  };
}
