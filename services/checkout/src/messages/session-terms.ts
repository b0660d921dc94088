import type { CreateSessionRequest } from '@eligo/proto/checkout/v1/checkout';
import { type Cents, centsFromInt64 } from '@eligo/values';

/** A shipping option as a request names it: one of the catalog's rates, or an amount of its own. */
export type ShippingChoice =
  | { readonly shippingRateId: string }
  | { readonly amountCents: Cents; readonly displayName: string }
  | undefined;

/** The shipping option of a session's or a payment link's message. */
export function shippingChoiceOf(shipping: CreateSessionRequest['shipping']): ShippingChoice {
  switch (shipping.case) {
    case 'shippingRateId':
      return { shippingRateId: shipping.value };
    case 'shippingRateData':
      return { displayName: shipping.value.displayName, amountCents: centsFromInt64(shipping.value.amountCents) };
    case undefined:
      return undefined;
  }
}

/** What was given in a message, without the message's own bookkeeping ($typeName, $unknown). */
export function fieldsOf<T extends object>(message: T | undefined): Omit<T, '$typeName' | '$unknown'> | undefined {
  if (message === undefined) return undefined;
  const fields = Object.entries(message).filter(([name, value]) => !name.startsWith('$') && value !== undefined);
  return Object.fromEntries(fields) as Omit<T, '$typeName' | '$unknown'>;
}
