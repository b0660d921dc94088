/**
 * How long before a hold lapses its session ends, if the shop has not captured it: a void that has to be repeated through an outage is still in time, and no
 * capture is sent that the issuer refuses.
 */
const leadMs = 3_600_000;

/** How long before a hold lapses the shop is told, if it has not captured it: a working day is left to capture. */
const noticeMs = 24 * 3_600_000;

/** When a hold is looked at again whose session could not be decided on: a payment of it was in flight, or the processor gave no answer. */
export const lookAgainMs = 300_000;

/** When a hold is looked at again that somebody captured at the processor: only a person can settle it. */
export const capturedElsewhereCheckMs = 3_600_000;

/** Until when a card is held, and when to look at the hold: first when the shop is told that it is about to lapse. */
export interface HoldTime {
  readonly captureBefore: Date;
  readonly checkAt: Date;
}

/** The time of a hold: until `told`, or, where nobody has told it, as long as a card that was authorized at `now` is held. */
export function holdTimeOf(told: Date | undefined, now: Date, offSession: boolean): HoldTime {
  const captureBefore = told ?? assumedCaptureBefore(now, offSession);
  return { captureBefore, checkAt: new Date(captureBefore.getTime() - noticeMs) };
}

/** When the session of a hold ends that the shop has not captured. */
export function endWithHold(captureBefore: Date): Date {
  return new Date(captureBefore.getTime() - leadMs);
}

// Seven days, and the shortest time of a network without the shopper.
function assumedCaptureBefore(at: Date, offSession: boolean): Date {
  return new Date(at.getTime() + (offSession ? 114 : 168) * 3_600_000);
}
