import type { Product } from '@eligo/proto/catalog/v1/catalog';
import { z } from 'zod';
import { expandsTo } from '../expansion.ts';
import { answer, eligibilityClass, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const productSchema = expandsTo(
  'product',
  z.strictObject({
    product_id: idOf('product'),
    name: answer.text,
    description: answer.text,
    upc_code: answer.text,
    gtin: answer.text,
    reference_gtin: answer.text,
    url: answer.text,
    client_reference_id: answer.text,
    image_urls: z.array(z.string()),
    categories: z.array(z.string()),
    components: z.array(z.string()),
    hsa_fsa_eligibility: eligibilityClass.nullable(),
    eligibility_rationale: answer.text,
    visit_type: answer.text,
    active: z.boolean(),
    metadata: answer.metadata,
    test_mode: z.boolean(),
    created_at: answer.time,
    updated_at: answer.time,
  }),
);

export function renderProduct(product: Product): z.infer<typeof productSchema> {
  return {
    product_id: product.productId,
    name: product.name ?? null,
    description: product.description ?? null,
    upc_code: product.upcCode ?? null,
    gtin: product.gtin ?? null,
    reference_gtin: product.referenceGtin ?? null,
    url: product.url ?? null,
    client_reference_id: product.clientReferenceId ?? null,
    image_urls: product.imageUrls,
    categories: product.categories,
    components: product.components,
    hsa_fsa_eligibility: eligibilityClassOf(product.hsaFsaEligibility),
    eligibility_rationale: product.eligibilityRationale ?? null,
    visit_type: product.visitType ?? null,
    active: product.active,
    metadata: product.metadata,
    test_mode: product.testMode,
    created_at: isoTime(product.createdAtMs),
    updated_at: isoTime(product.updatedAtMs),
  };
}

/** A class as the services carry it; null when nothing classified the record, which counts as not eligible. */
export function eligibilityClassOf(value: string | undefined): z.infer<typeof eligibilityClass> | null {
  return (value as z.infer<typeof eligibilityClass> | undefined) ?? null;
}
