/** The fields that have a value or are null: undefined means that a field was not given. */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  return kept as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
}

/** The fields that have a value: null, as the database has it, also means that a message's field is not set. */
export function present<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== null) kept[name] = value;
  return kept as { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
}
