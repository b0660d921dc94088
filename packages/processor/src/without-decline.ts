/** Only what concerns a card can be declined; a processor that said so elsewhere has refused the request. */
export function withoutDecline<Outcome extends { kind: string }>(
  outcome: Outcome,
): Exclude<Outcome, { kind: 'declined' }> | { kind: 'rejected'; code: string; status: number; param: undefined } {
  if (outcome.kind !== 'declined') return outcome as Exclude<Outcome, { kind: 'declined' }>;
  return { kind: 'rejected', code: 'card_declined', status: 402, param: undefined };
}
