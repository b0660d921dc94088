/** The name of a product, as a line of a document shows it. */
export function productName(names: ReadonlyMap<string, string>, productId: string | undefined): string {
  return names.get(productId ?? '') || 'Item';
}
