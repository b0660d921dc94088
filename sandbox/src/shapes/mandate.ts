import { createHash } from 'node:crypto';

/** The mandate under which a card that was saved for later can be charged without the shopper. */
export function mandateOf(paymentMethodId: string): string {
  return `mandate_${paymentMethodId.replace(/^pm_/, '')}`;
}

/** By which the card's network knows a charge. */
export function networkTransactionOf(chargeId: string): string {
  const digest = createHash('sha256').update(chargeId).digest('hex');
  return (BigInt(`0x${digest}`) % 10n ** 15n).toString().padStart(15, '1');
}
