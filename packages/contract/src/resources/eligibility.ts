import type { EligibilityItem, EvaluatedItem } from '@eligo/proto/catalog/v1/catalog';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer, eligibilityClass } from '../fields.ts';
import { eligibilityClassOf } from './product.ts';

export const evaluatedItemSchema = z.strictObject({
  product: answer.text,
  price: answer.text,
  upc_code: answer.text,
  gtin: answer.text,
  quantity: z.int(),
  hsa_fsa_eligibility: eligibilityClass.nullable(),
  eligible: z.boolean(),
  rule: z.string(),
  rule_version: answer.text,
  rationale: z.string(),
  amount_eligible: answer.cents.nullable(),
});

/** One item of an eligibility answer beside the item that was asked for (decisions 5). */
export function renderEvaluatedItem(
  asked: Pick<EligibilityItem, 'item' | 'quantity'>,
  evaluated: EvaluatedItem,
): z.infer<typeof evaluatedItemSchema> {
  const { item } = asked;
  const { decision, amountEligibleCents } = evaluated;
  const found = eligibilityClassOf(decision?.hsaFsaEligibility);
  return {
    product: item.case === 'productId' ? item.value : null,
    price: item.case === 'priceId' ? item.value : null,
    upc_code: item.case === 'upcCode' ? item.value : null,
    gtin: item.case === 'gtin' ? item.value : null,
    quantity: Number(asked.quantity),
    hsa_fsa_eligibility: found,
    eligible: found !== null && found !== 'not_eligible',
    rule: decision?.rule ?? 'none',
    rule_version: decision?.ruleVersion || null,
    rationale: decision?.rationale ?? '',
    amount_eligible: amountEligibleCents === undefined ? null : centsFromInt64(amountEligibleCents),
  };
}
