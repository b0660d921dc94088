/** Whether a query's flag is set, in any of the spellings that partners' languages give a boolean. */
export function isTrue(value: unknown): boolean {
  return typeof value === 'string' && /^(?:true|1)$/i.test(value);
}
