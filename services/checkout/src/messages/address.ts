import { create } from '@bufbuild/protobuf';
import { type Address as AddressMessage, AddressSchema } from '@eligo/proto/checkout/v1/checkout';
import type { Address } from '../domain/address.ts';

export function addressMessage(address: Address): AddressMessage {
  return create(AddressSchema, address);
}

/** The address of a request, or null where none was given. Its identifier is ours to give, so the given one is left out. */
export function addressOf(message: AddressMessage | undefined): Address | null {
  if (message === undefined) return null;
  const { line1, line2, city, state, postalCode, country } = message;
  const given = Object.entries({ line1, line2, city, state, postalCode, country }).filter(
    ([, part]) => part !== undefined,
  );
  return given.length === 0 ? null : (Object.fromEntries(given) as Address);
}
