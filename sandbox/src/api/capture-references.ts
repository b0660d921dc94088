import { invalidRequest } from '../refusal.ts';
import type { ChargeCapture, ChargeRecord } from '../store/record-types.ts';

// Outside of Stripe's dialect, which has no capture that a refund could name: both travel as metadata.
const captureMark = 'sandbox_capture';
const refundMark = /^sandbox_captures_\d+$/;

/** The reference that a capture brings, and its metadata without it. */
export function takeReference(metadata: Record<string, string> | null | undefined) {
  if (!metadata) return { reference: undefined, rest: metadata };
  const { [captureMark]: reference, ...rest } = metadata;
  return { reference, rest };
}

/** The captures of a charge with one more. */
export function withCapture(
  charge: ChargeRecord,
  reference: string | undefined,
  amount: number,
): readonly ChargeCapture[] {
  const captures = charge.captures ?? [];
  return reference === undefined || amount === 0 ? captures : [...captures, { reference, amount, refunded: 0 }];
}

/** The captures of a charge after a refund that names some of them: never more than each one took, and never more than the refund. */
export function withRefund(charge: ChargeRecord, amount: number, metadata: Record<string, string>) {
  const parts = partsOf(metadata);
  const known = charge.captures ?? [];
  const rest = new Map(known.map((capture) => [capture.reference, capture.amount - capture.refunded]));
  // Earlier versions sent no references, so one that is not known may stand for any capture without one.
  const unnamed = charge.amountCaptured - known.reduce((total, capture) => total + capture.amount, 0);
  const isWithin = [...parts].every(([reference, part]) => part > 0 && part <= (rest.get(reference) ?? unnamed));
  const sum = [...parts.values()].reduce((total, part) => total + part, 0);
  if (!isWithin || sum > amount) {
    throw invalidRequest('A refund takes of each capture no more than is left of it, and no more than its amount.', {
      code: 'capture_exceeded',
      param: 'metadata',
    });
  }
  return moved(known, parts, 1);
}

/** The captures of a charge whose refund has failed. */
export function withFailedRefund(charge: ChargeRecord, metadata: Record<string, string>): readonly ChargeCapture[] {
  return moved(charge.captures ?? [], partsOf(metadata), -1);
}

function moved(captures: readonly ChargeCapture[], parts: ReadonlyMap<string, number>, sign: 1 | -1) {
  return captures.map((capture) => {
    const part = parts.get(capture.reference) ?? 0;
    return { ...capture, refunded: capture.refunded + sign * part };
  });
}

function partsOf(metadata: Record<string, string>): ReadonlyMap<string, number> {
  const texts = Object.entries(metadata).flatMap(([name, text]) => (refundMark.test(name) ? text.split(',') : []));
  return new Map(
    texts.map((text) => {
      const [reference = '', amount = ''] = text.split('=');
      return [reference, Number(amount)];
    }),
  );
}
