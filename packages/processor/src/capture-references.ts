import type { CaptureInput, RefundInput } from './port.ts';

// Outside of Stripe's dialect, which has no capture that a refund could name: the sandbox takes both as metadata.

/** The reference of a capture, as the sandbox takes it. */
export function captureMark({ captureId }: CaptureInput): Record<string, string> | undefined {
  return captureId === undefined ? undefined : { sandbox_capture: captureId };
}

/** A value of metadata has at most 500 characters; a part has at most 50. */
const partsOfAValue = 10;

/** What a refund takes of each capture, as the sandbox takes it. */
export function captureParts({ captures = [] }: RefundInput): Record<string, string> {
  const texts = captures.map(({ captureId, amountCents }) => `${captureId}=${amountCents}`);
  const values: Record<string, string> = {};
  for (let from = 0; from < texts.length; from += partsOfAValue) {
    values[`sandbox_captures_${from / partsOfAValue}`] = texts.slice(from, from + partsOfAValue).join(',');
  }
  return values;
}
