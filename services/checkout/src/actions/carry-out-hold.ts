import type { IntentOutcome, NotNow, ProcessorPort } from '@eligo/processor';
import { cents } from '@eligo/values';
import type { IntentOperation } from '../store/intent-operations.ts';

/** What has become of an operation on a hold, as far as the processor says. */
export type HoldFate =
  | { readonly kind: 'done'; readonly isStillHeld: boolean }
  /** Certain: the hold is gone at the processor, and no capture that is still on its way can take it. */
  | { readonly kind: 'lost'; readonly code: string }
  /** Certain: nothing was captured, and the hold is as it was. */
  | { readonly kind: 'refused'; readonly code: string }
  | NotNow
  /** `nextKey`: the key has an answer, which is all that it will ever give. */
  | { readonly kind: 'unknown'; readonly refusal: string | undefined; readonly nextKey: boolean };

/**
 * Captures part or all of a hold, or voids what is left of it. Of a hold that is captured in parts a capture could be carried out twice, so it is sent
 * again only under the same key, or under the next one once the last has an answer that says that nothing was captured.
 */
export function carryOutHold(
  processor: ProcessorPort,
  operation: IntentOperation,
  remaining: () => number,
): Promise<HoldFate> {
  return (operation.kind === 'capture' ? capture : voidHold)(processor, operation, remaining);
}

async function capture(
  processor: ProcessorPort,
  operation: IntentOperation,
  remaining: () => number,
): Promise<HoldFate> {
  const { processorIntentId: intentId, captureId, amountCents, endsHold } = operation;
  // The processor forgets a key after a day: what may have been sent before is looked up before it is sent again.
  if (operation.epoch > 1 && !endsHold) {
    const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
    const told = fateOfCapture(operation, known);
    if (told !== undefined) return told;
    if (known.kind !== 'requires_capture') return { kind: 'unknown', refusal: refusalOf(known), nextKey: false };
  }
  const key = `${operation.id}:${endsHold ? operation.checks : operation.tries}`;
  const answer = await processor.captureIntent(
    intentId,
    { captureId: captureId ?? undefined, amountCents, finalCapture: endsHold },
    { idempotencyKey: key, timeoutMs: remaining() },
  );
  const told = fateOfCapture(operation, answer);
  if (told !== undefined) return told;
  // A lost answer, or a refusal because of what was done before: the intent itself says which.
  const now = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
  const known = fateOfCapture(operation, now);
  if (known !== undefined) return known;
  const refusal = refusalOf(answer);
  // Only one key of a partial capture can be without an answer: with this answer no earlier request is still on its way.
  if (answer.kind === 'rejected' && answer.status === 400 && !endsHold && now.kind === 'requires_capture') {
    return { kind: 'refused', code: answer.code };
  }
  const isFinal = answer.kind === 'declined' || refusal === 'charge_expired_for_capture';
  if (!isFinal || refusal === undefined) return { kind: 'unknown', refusal, nextKey: isAnswered(answer) };
  // It is only certain once the intent is canceled: an earlier capture may still be on its way.
  const ended = await voidAtProcessor(processor, operation, `${key}:void`, remaining);
  const settled = fateOfCapture(operation, ended);
  return settled?.kind === 'lost' ? { kind: 'lost', code: refusal } : (settled ?? unknown(refusal));
}

function fateOfCapture(operation: IntentOperation, answer: IntentOutcome): HoldFate | undefined {
  const { amountCents, receivedBeforeCents: before, endsHold } = operation;
  if (answer.kind === 'canceled') return { kind: 'lost', code: 'canceled' };
  if (answer.kind === 'not_now') return answer;
  if (answer.kind !== 'succeeded' && answer.kind !== 'requires_capture') return undefined;
  const received = answer.amountReceivedCents;
  const isStillHeld = answer.kind === 'requires_capture';
  // Nothing of this capture has arrived yet, or what was left of the hold has lapsed.
  if (received === before) return isStillHeld ? undefined : { kind: 'lost', code: 'expired' };
  // Another amount was captured by somebody at the processor: it stays unsettled, loudly, until a person has looked.
  if (received !== before + amountCents || (endsHold && isStillHeld)) return unknown('another_amount_captured');
  return { kind: 'done', isStillHeld };
}

async function voidHold(
  processor: ProcessorPort,
  operation: IntentOperation,
  remaining: () => number,
): Promise<HoldFate> {
  const done = { kind: 'done', isStillHeld: false } as const;
  const isVoided = (answer: IntentOutcome) =>
    operation.receivedBeforeCents === 0
      ? answer.kind === 'canceled'
      : answer.kind === 'succeeded' && answer.amountReceivedCents === operation.receivedBeforeCents;
  const answer = await voidAtProcessor(processor, operation, `${operation.id}:${operation.checks}`, remaining);
  if (isVoided(answer)) return done;
  if (answer.kind === 'not_now') return answer;
  const known = await processor.retrieveIntent(operation.processorIntentId, { timeoutMs: remaining() });
  if (isVoided(known)) return done;
  if (known.kind === 'not_now') return known;
  // Captured by somebody at the processor: a person has to look.
  const refusal = answer.kind === 'rejected' ? answer.code : undefined;
  return unknown(known.kind === 'succeeded' ? 'captured_elsewhere' : refusal);
}

// An intent of which a part was captured stands for that part: the rest is released by a last capture of nothing.
function voidAtProcessor(
  processor: ProcessorPort,
  { processorIntentId: intentId, receivedBeforeCents }: IntentOperation,
  idempotencyKey: string,
  remaining: () => number,
): Promise<IntentOutcome> {
  const call = { idempotencyKey, timeoutMs: remaining() };
  return receivedBeforeCents === 0
    ? processor.cancelIntent(intentId, call)
    : processor.captureIntent(intentId, { amountCents: cents(0), finalCapture: true }, call);
}

function unknown(refusal: string | undefined): HoldFate {
  return { kind: 'unknown', refusal, nextKey: true };
}

function refusalOf(answer: IntentOutcome): string | undefined {
  return answer.kind === 'rejected' || answer.kind === 'declined' ? answer.code : undefined;
}

// The processor keeps a refusal, and a 500 that it replays, under the key.
function isAnswered(answer: IntentOutcome): boolean {
  return answer.kind === 'unknown' ? answer.replayed : true;
}
