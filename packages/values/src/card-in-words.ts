/** A card as its owner knows it: `Card, Visa ending in 4242`. */
export function cardInWords({
  isHealthCard,
  brand,
  last4,
}: {
  readonly isHealthCard: boolean;
  readonly brand: string | null;
  readonly last4: string | null;
}): string {
  const kind = isHealthCard ? 'HSA/FSA card' : 'Card';
  if (last4 === null) return kind;
  const name = brand === null ? 'card' : brand.charAt(0).toUpperCase() + brand.slice(1);
  return `${kind}, ${name} ending in ${last4}`;
}
