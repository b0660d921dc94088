import type { EligibilityClass } from './eligibility-class.ts';
import { checkClass, checkClear, checkIndexedText, type Loc, type Metadata } from './field-rules.ts';

/** What the partner says of a product. */
export interface ProductFields {
  readonly name: string | null;
  readonly description: string | null;
  readonly upcCode: string | null;
  readonly gtin: string | null;
  readonly referenceGtin: string | null;
  readonly url: string | null;
  readonly clientReferenceId: string | null;
  readonly imageUrls: readonly string[];
  readonly categories: readonly string[];
  readonly componentIds: readonly string[];
  readonly hsaFsaEligibility: EligibilityClass | null;
  readonly visitType: string | null;
  readonly active: boolean;
  readonly metadata: Metadata;
}

/** Something that is sold, whatever its prices. */
export interface Product extends ProductFields {
  readonly productId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What a creation gives, before it is checked: texts where records have narrower types. */
export type ProductInput = Omit<ProductFields, 'hsaFsaEligibility'> & { readonly hsaFsaEligibility: string | null };

/** The fields that an update gives; a field left out stays as it is. */
export type ProductChange = { readonly [Field in keyof ProductInput]?: ProductInput[Field] };

/** The fields of a product that `clear` resets, by the names that partners use. */
export const clearableProductFields = [
  'description',
  'upc_code',
  'gtin',
  'reference_gtin',
  'url',
  'client_reference_id',
  'image_urls',
  'categories',
  'components',
  'hsa_fsa_eligibility',
  'visit_type',
  'metadata',
] as const;

/** Checks what a creation gives. `loc` is where the product stands in the body. */
export function newProductFields(input: ProductInput, loc: Loc): ProductFields {
  return {
    ...input,
    clientReferenceId: checkIndexedText(input.clientReferenceId, [...loc, 'client_reference_id']),
    hsaFsaEligibility: checkClass(input.hsaFsaEligibility, [...loc, 'hsa_fsa_eligibility']),
  };
}

/** The product's fields after an update: only what is supplied changes, and what `clear` names is reset. */
export function changedProductFields(
  product: Product,
  change: ProductChange,
  clear: readonly string[],
  loc: Loc,
): ProductFields {
  const cleared = clearedFields(clear, [...loc, 'clear']);
  const { productId: _id, createdAt: _created, updatedAt: _updated, ...fields } = product;
  return newProductFields({ ...fields, ...cleared, ...change }, loc);
}

/** Why the product has its class, for people. */
export function eligibilityRationaleOf(product: Pick<Product, 'hsaFsaEligibility'>): string | null {
  return product.hsaFsaEligibility === null ? null : 'Set on the product by the partner.';
}

function clearedFields(clear: readonly string[], loc: Loc): ProductChange {
  const emptied: Record<(typeof clearableProductFields)[number], ProductChange> = {
    description: { description: null },
    upc_code: { upcCode: null },
    gtin: { gtin: null },
    reference_gtin: { referenceGtin: null },
    url: { url: null },
    client_reference_id: { clientReferenceId: null },
    image_urls: { imageUrls: [] },
    categories: { categories: [] },
    components: { componentIds: [] },
    hsa_fsa_eligibility: { hsaFsaEligibility: null },
    visit_type: { visitType: null },
    metadata: { metadata: {} },
  };
  const fields = [...checkClear(clear, clearableProductFields, loc)];
  return Object.assign({}, ...fields.map((field) => emptied[field])) as ProductChange;
}
