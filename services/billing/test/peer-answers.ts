import { create } from '@bufbuild/protobuf';
import {
  type ChargeInvoiceRequest,
  type ChargeInvoiceResponse,
  ChargeInvoiceResponseSchema,
} from '@eligo/proto/checkout/v1/checkout';

/** A charge that took money. */
export interface TakenCharge extends Pick<ChargeInvoiceRequest, 'leg' | 'onPage' | 'withCustomer'> {
  readonly operationId: string;
  readonly invoiceId: string;
  readonly paymentMethodId: string;
  readonly amountCents: number;
  readonly at: Date;
  readonly healthcareCents: number;
}

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

/** What another operation is answered for a leg of an invoice that is paid: that payment, if it is of the same amount. */
export function paidBefore(
  answers: Iterable<{ readonly request: ChargeInvoiceRequest; readonly response: ChargeInvoiceResponse }>,
  { invoiceId, leg, amountCents }: ChargeInvoiceRequest,
): ChargeInvoiceResponse | undefined {
  for (const { request, response } of answers) {
    if (response.outcome !== 'succeeded' || request.invoiceId !== invoiceId || request.leg !== leg) continue;
    if (request.amountCents === amountCents) return response;
    return create(ChargeInvoiceResponseSchema, { outcome: 'declined', failureCode: 'charged_another_amount' });
  }
  return undefined;
}
