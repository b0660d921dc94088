/**
 * The id of the balance transaction of a charge that was captured at once, or of a journal entry of another capture: the same text behind the prefix of balance
 * transactions. So a charge names it before the ledger, which another service keeps, has it. A capture of two cards has an entry for each.
 */
export function balanceTransactionOf(id: string): string {
  return `fbtxn_${id.slice(id.indexOf('_') + 1)}`;
}
