/**
 * The id of the balance transaction of a charge that was captured at once, or of a capture: the same text behind the prefix of balance transactions. So
 * a charge names it before the ledger, which another service keeps, has it.
 */
export function balanceTransactionOf(sourceId: string): string {
  return `fbtxn_${sourceId.slice(sourceId.indexOf('_') + 1)}`;
}
