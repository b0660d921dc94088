import type { NextAction } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer } from '../fields.ts';

const collectLetter = z.strictObject({ url: answer.text });
const paymentFailed = z.strictObject({
  message: answer.text,
  url: answer.text,
  decline_code: answer.text,
  error_code: answer.text,
});
const secondMethod = z.strictObject({
  message: answer.text,
  url: answer.text,
  eligible_amount: answer.cents.nullable(),
  ineligible_amount: answer.cents.nullable(),
});
const alternativeMethod = z.strictObject({ message: answer.text, url: answer.text });

export const nextActionSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('collect_letter_of_medical_necessity'),
    collect_letter_of_medical_necessity: collectLetter,
  }),
  z.strictObject({ type: z.literal('payment_failed'), payment_failed: paymentFailed }),
  z.strictObject({ type: z.literal('provide_second_payment_method'), provide_second_payment_method: secondMethod }),
  z.strictObject({
    type: z.literal('provide_alternative_payment_method'),
    provide_alternative_payment_method: alternativeMethod,
  }),
]);

/** What the shopper or the partner has to do next: a type, and one detail object named for it (interface, Checkout session). */
export function renderNextAction(action: NextAction): z.infer<typeof nextActionSchema> | null {
  const message = action.message ?? null;
  const url = action.url ?? null;
  switch (action.type) {
    case 'collect_letter_of_medical_necessity':
      return { type: action.type, collect_letter_of_medical_necessity: { url } };
    case 'payment_failed':
      return {
        type: action.type,
        payment_failed: {
          message,
          url,
          decline_code: action.declineCode ?? null,
          error_code: action.errorCode ?? null,
        },
      };
    case 'provide_second_payment_method':
      return {
        type: action.type,
        provide_second_payment_method: {
          message,
          url,
          eligible_amount: optionalCents(action.eligibleAmountCents),
          ineligible_amount: optionalCents(action.ineligibleAmountCents),
        },
      };
    case 'provide_alternative_payment_method':
      return { type: action.type, provide_alternative_payment_method: { message, url } };
    default:
      return null;
  }
}

function optionalCents(value: bigint | undefined): number | null {
  return value === undefined ? null : centsFromInt64(value);
}
