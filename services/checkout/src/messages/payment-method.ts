import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import {
  BillingDetailsSchema,
  CardSchema,
  type PaymentMethod as PaymentMethodMessage,
  PaymentMethodSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { addressMessage } from './address.ts';

/** The message of a payment method. */
export function paymentMethodMessage(scope: Scope, method: PaymentMethod): PaymentMethodMessage {
  const { hsaFsa, hsaFsaSource, ...card } = method.card;
  const { address, ...billing } = method.billingDetails;
  return create(PaymentMethodSchema, {
    paymentMethodId: method.id,
    type: 'card',
    card: create(CardSchema, { ...card, ...present({ hsaFsa, hsaFsaSource }) }),
    billingDetails: create(BillingDetailsSchema, {
      ...billing,
      ...(address === undefined ? {} : { address: addressMessage(address) }),
    }),
    offSession: method.offSession,
    metadata: { ...method.metadata },
    testMode: scope.testMode,
    createdAtMs: BigInt(method.createdAt.getTime()),
    ...present({ customerId: method.customerId }),
  });
}
