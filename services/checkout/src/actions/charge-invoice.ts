import { AsyncLocalStorage } from 'node:async_hooks';
import { Failure } from '@eligo/failures';
import { isUniqueViolation, type Scope, type Tx, withTx } from '@eligo/postgres';
import { isSameAccount, maximumChargeCents, minimumChargeCents, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { type ChargeAttempt, canceledLate } from '../domain/charge-attempt.ts';
import type { InvoiceCharge } from '../domain/invoice-charge.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { claimAttempt, findAttempt, findAttemptOfOperation, liveAttempts } from '../store/charge-attempts.ts';
import { findStatement } from '../store/health-card-statements.ts';
import { findIntent } from '../store/payment-intents.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { abandonAttempt } from './abandon-attempt.ts';
import { attemptAsCreated, beginAttempt } from './begin-attempt.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import type { InvoiceClaimed } from './claim-invoice-charges.ts';
import { invoiceAttempt, ownersOfCharge } from './invoice-attempt.ts';

export interface InvoiceChargeResult {
  readonly outcome: 'succeeded' | 'declined' | 'unknown' | 'abandoned';
  readonly intent: PaymentIntent | undefined;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  /** With `unknown`: the processor turns the account away, or is down, for so long. */
  readonly retryAfterMs?: number;
  /** With `unknown`: the bank waits for the customer of a first payment. */
  readonly awaitsCustomer?: boolean;
}

const unknown: InvoiceChargeResult = { outcome: 'unknown', intent: undefined, failureCode: null, declineCode: null };

/**
 * Charges an invoice under an operation id: asking again gives the stored answer or resumes the existing attempt, and never charges twice.
 * An invoice whose part was paid under another id is answered with that payment. If some of it was refunded or disputed, or the amount was another one, it is declined for good: nothing is
 * charged twice for one part. `unknown` means that billing asks again with the same id, and does not
 * count as an attempt on the card: a charge that an outage delayed is canceled, and the next call begins a new charge. `abandoned` means that another operation has taken this one's place and nothing will be charged under it. Throws a Failure
 * for a card that is not there or was saved at another processor account, a health card that the account may not charge, an amount that cannot be charged, and an id that stands for another charge (`idempotency_key_reused`).
 */
export async function chargeInvoice(
  context: Context,
  scope: Scope,
  charge: InvoiceCharge,
): Promise<InvoiceChargeResult> {
  const deadlineMs = performance.now() + context.budgets.callMs;
  if (charge.amountCents < minimumChargeCents) throw new Failure('checkout_amount_too_low');
  if (charge.amountCents > maximumChargeCents) {
    throw Failure.invalid(['amount_cents'], 'amount_too_large', `Must be at most ${maximumChargeCents}`);
  }
  const claimed = await claimTogether(context, scope, charge);
  if (claimed === 'busy') return unknown;
  if ('paidOtherwise' in claimed) {
    return { outcome: 'declined', intent: undefined, failureCode: claimed.paidOtherwise, declineCode: null };
  }
  const { attempt, intent: begun } = claimed;
  await context.failpoint('invoice.claimed');
  if (attempt.status !== 'created' && attempt.status !== 'sending' && attempt.status !== 'unknown') {
    return resultOf(attempt, await findIntent(context.database, scope, attempt.paymentIntentId));
  }
  const notNow: { retryAfterMs?: number } = {};
  const own = begun && { intent: begun };
  const settled = await carryOutAttempt(context, scope, attempt, deadlineMs, own, (delayMs) => {
    // Another account, at which the card was saved, says nothing about the other cards.
    const { processorAccount } = attempt;
    const current = context.processors.findOf(scope)?.account;
    if (current === undefined) return;
    if (processorAccount === null || isSameAccount(processorAccount, current)) notNow.retryAfterMs = delayMs;
  });
  if (settled !== undefined) return resultOf(settled.attempt, settled.intent);
  return { ...unknown, ...notNow, ...(charge.withCustomer === true ? await waitOf(context, scope, attempt.id) : {}) };
}

async function waitOf({ database }: Context, scope: Scope, attemptId: string): Promise<{ awaitsCustomer: boolean }> {
  const attempt = await findAttempt(database, scope, attemptId);
  const isUnsettled = attempt?.status === 'sending' || attempt?.status === 'unknown';
  return { awaitsCustomer: isUnsettled && attempt.awaitsCustomer === true };
}

function claimTogether(context: Context, scope: Scope, charge: InvoiceCharge): Promise<InvoiceClaimed> {
  const alone = () => begin(context, scope, charge);
  const ofNewMoney = context.processors.findOf(scope)?.account;
  if (ofNewMoney === undefined) return alone();
  const inContext = AsyncLocalStorage.snapshot();
  return context.groups.invoiceClaims.submit(scope, { charge, ofNewMoney, inContext, alone });
}

async function begin(context: Context, scope: Scope, charge: InvoiceCharge): Promise<InvoiceClaimed> {
  try {
    return await withTx(context.database, scope, (tx) => claim(context, tx, scope, charge), {
      lockTimeoutMs: context.budgets.lockMs,
    });
  } catch (error) {
    // Two calls with one operation id at once: the other one's row is there now, and it is asked again.
    if (isUniqueViolation(error)) return 'busy';
    throw error;
  }
}

async function claim(context: Context, tx: Tx, scope: Scope, charge: InvoiceCharge): Promise<InvoiceClaimed> {
  const known = await findAttemptOfOperation(tx, scope, charge.operationId);
  if (known !== undefined && !isSameCharge(known, charge)) throw new Failure('idempotency_key_reused');
  if (known !== undefined && !(await cameTooLate(tx, scope, known))) {
    const unsettled = known.status === 'created' || known.status === 'sending' || known.status === 'unknown';
    const attempt = unsettled ? await claimAttempt(tx, scope, known.id, context.budgets.leaseMs) : known;
    return attempt === undefined ? 'busy' : { attempt };
  }
  const live = (await liveAttempts(tx, scope, 'invoice', charge.invoiceId)).filter(({ leg }) => leg === charge.leg);
  for (const earlier of live) {
    // Another operation has taken this one's place.
    if (known !== undefined) return { attempt: known };
    // To say that the outcome is unknown would have billing ask forever.
    if (earlier.status === 'succeeded') return answerOfPaid(tx, scope, earlier, charge);
    // An earlier unsettled attempt of this invoice blocks the next one; an unsent attempt is abandoned.
    if (earlier.status !== 'created' || !(await abandonAttempt(tx, scope, earlier.id))) return 'busy';
  }
  const [card] = await findChargeableCards(tx, scope, [charge.paymentMethodId]);
  const attempt = invoiceAttempt(scope, charge, card, {
    // A new one each time, also under the same operation: what the last one sent may be on its way under that one's keys.
    id: known === undefined ? charge.operationId : newId('charge_attempt'),
    statement: charge.leg === 'health' && !scope.testMode ? await findStatement(tx, scope) : undefined,
    ofNewMoney: context.processors.of(scope).account,
    budgets: context.budgets,
  });
  if (attempt === 'statement_not_told') {
    context.logger.warn(scope, 'Invoice waits until the gateway has told whether its account charges health cards');
    return 'busy';
  }
  if (typeof attempt === 'string') throw new Failure(attempt);
  const intent = await beginAttempt(tx, scope, attempt, ownersOfCharge(charge));
  return { attempt: attemptAsCreated(attempt), intent };
}

// An attempt stays succeeded when its money is returned: what a refund or a dispute has taken back pays no invoice, and is not charged again unasked.
async function answerOfPaid(
  tx: Tx,
  scope: Scope,
  earlier: ChargeAttempt,
  charge: InvoiceCharge,
): Promise<InvoiceClaimed> {
  if (earlier.amountCents !== charge.amountCents) return { paidOtherwise: 'charged_another_amount' };
  const intent = await findIntent(tx, scope, earlier.paymentIntentId);
  if (intent === undefined) throw new Error(`Attempt ${earlier.id} has no intent`);
  if (intent.amountDisputedCents > 0) return { paidOtherwise: 'charge_disputed' };
  return intent.amountRefundedCents > 0 ? { paidOtherwise: 'charge_refunded' } : { attempt: earlier };
}

// Nothing was charged, and nothing will be: the operation starts over. An outage is not a decline.
async function cameTooLate(tx: Tx, scope: Scope, known: ChargeAttempt): Promise<boolean> {
  if (known.status === 'abandoned') return known.failureCode === canceledLate;
  if (known.status !== 'created' || !known.confirmOver) return false;
  return abandonAttempt(tx, scope, known.id, { failureCode: canceledLate });
}

// Which card and when is as it was first asked; a later call that names another card asks for the same money.
function isSameCharge(known: ChargeAttempt, charge: InvoiceCharge): boolean {
  return (
    known.purpose === 'invoice' &&
    known.subjectId === charge.invoiceId &&
    known.leg === charge.leg &&
    known.amountCents === charge.amountCents
  );
}

function resultOf(attempt: ChargeAttempt, intent: PaymentIntent | undefined): InvoiceChargeResult {
  return {
    outcome: outcomeOf(attempt),
    intent,
    failureCode: attempt.failureCode,
    declineCode: attempt.declineCode,
  };
}

function outcomeOf({ status }: ChargeAttempt): InvoiceChargeResult['outcome'] {
  switch (status) {
    case 'succeeded':
    case 'abandoned':
      return status;
    case 'declined':
    case 'failed':
    case 'released':
      return 'declined';
    case 'created':
    case 'sending':
    case 'unknown':
      return 'unknown';
  }
}
