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
  if (isFromAnother(card, ofNewMoney)) throw new Failure('payment_method_from_another_processor');
  return ofNewMoney;
}

/** Why a card cannot be charged, whoever asks; undefined for one that can. `ofNewMoney` is undefined while its account has no processor. */
export function whyNotChargeable(
  card: { readonly processorAccount: ProcessorAccount | null; readonly detachedAt: Date | null },
  ofNewMoney: ProcessorAccount | undefined,
): 'payment_method_not_found' | 'payment_method_from_another_processor' | undefined {
  if (card.detachedAt !== null) return 'payment_method_not_found';
  const isElsewhere = ofNewMoney !== undefined && isFromAnother(card, ofNewMoney);
  return isElsewhere ? 'payment_method_from_another_processor' : undefined;
}

function isFromAnother(
  { processorAccount }: { readonly processorAccount: ProcessorAccount | null },
  ofNewMoney: ProcessorAccount,
): boolean {
  return processorAccount !== null && !isSameAccount(processorAccount, ofNewMoney);
}
