/** The properties of a record and the columns that hold them. */
export type Columns = { readonly [property: string]: string };

/** The columns as a select list: `r.price_id as "priceId", …`; with a prefix the properties carry it, so that two records fit in a row. */
export function selectList(columns: Columns, table: string, prefix = ''): string {
  return Object.entries(columns)
    .map(([property, column]) => `${table}.${column} as "${prefix}${property}"`)
    .join(', ');
}

/** The record that a row holds under a prefix. */
export function fromPrefixed<Row>(columns: Columns, row: { readonly [column: string]: unknown }, prefix: string): Row {
  const picked: { [property: string]: unknown } = {};
  for (const property of Object.keys(columns)) picked[property] = row[prefix + property];
  return picked as Row;
}
