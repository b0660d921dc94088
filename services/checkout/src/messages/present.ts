/** The entries of `record` that have a value: null and undefined both mean that a message's field is not set. */
export function present<T extends object>(record: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const kept: { [K in keyof T]?: NonNullable<T[K]> } = {};
  for (const key of Object.keys(record) as (keyof T)[]) {
    const value = record[key];
    if (value !== undefined && value !== null) kept[key] = value;
  }
  return kept;
}
