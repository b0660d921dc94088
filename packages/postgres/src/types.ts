import pg from 'pg';

/**
 * How this package reads the server's values, per pool and without touching pg's global table: int8 is a bigint (a string would turn sums
 * into concatenations), numeric a string, timestamptz a Date (the columns are timestamptz(3), so nothing is lost), date its own text.
 */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (format !== 'binary') {
      const parser = own.get(oid);
      if (parser !== undefined) return parser;
    }
    return pg.types.getTypeParser(oid, format ?? 'text');
  }) as pg.CustomTypesConfig['getTypeParser'],
};

const INT8 = 20;
const DATE = 1082;
const INT8_ARRAY = 1016;

const TEXT_ARRAY: number = 1009;
const textArray: (text: string) => (string | null)[] = pg.types.getTypeParser(TEXT_ARRAY, 'text');

const own = new Map<number, (text: string) => unknown>([
  [INT8, (text) => BigInt(text)],
  [DATE, (text) => text],
  [INT8_ARRAY, (text) => textArray(text).map((item) => (item === null ? null : BigInt(item)))],
]);
