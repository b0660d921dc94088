import { create } from '@bufbuild/protobuf';
import { type ChargeInvoiceResponse, ChargeInvoiceResponseSchema } from '@eligo/proto/checkout/v1/checkout';

/** What checkout answers for a card that was declined. */
export function declined(code: string): ChargeInvoiceResponse {
  if (code === 'authentication_required') {
    return create(ChargeInvoiceResponseSchema, { outcome: 'declined', failureCode: code, declineCode: code });
  }
  const refusal = { failureCode: 'card_declined', declineCode: code };
  return create(ChargeInvoiceResponseSchema, { outcome: 'declined', ...refusal });
}

/** What a oneof names. */
export function nameIn(oneof: unknown): string {
  return String((oneof as { value?: unknown } | undefined)?.value);
}
