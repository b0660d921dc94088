import { Failure } from '@eligo/failures';
import { isSameAccount, type ProcessorAccount } from '@eligo/values';

/**
 * The processor account at which a card is charged, set up or attached now: that of new money. Throws `payment_method_from_another_processor` for a card that
 * was saved elsewhere. No processor moves a card to another account.
 */
export function accountToCharge(
  card: { readonly processorAccount: ProcessorAccount | null },
  ofNewMoney: ProcessorAccount,
): ProcessorAccount {
  if (card.processorAccount !== null && !isSameAccount(card.processorAccount, ofNewMoney)) {
    throw new Failure('payment_method_from_another_processor');
  }
  return ofNewMoney;
}
