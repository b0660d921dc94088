/** Parameters as a form, in Stripe's notation: `metadata[attempt]=fat_1`, `types[0]=card`. What is undefined is left out, null unsets. */
export function formOf(parameters: object): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(parameters)) addPairs(pairs, encoded(name), value);
  return pairs.join('&');
}

function addPairs(pairs: string[], name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null) {
    pairs.push(`${name}=${encoded(value === null ? '' : String(value))}`);
    return;
  }
  // An array's entries go by their index.
  for (const [key, entry] of Object.entries(value)) addPairs(pairs, `${name}[${encoded(key)}]`, entry);
}

const plain = /^[\w.~-]*$/;

function encoded(text: string): string {
  return plain.test(text) ? text : encodeURIComponent(text);
}
