import { scoped } from '../src/index.ts';
import type { TestDatabase } from './support.ts';

/** The account and mode in which the tests of transactions work. */
export const scope = { accountId: 'facct_a', testMode: true };

export const insert = scoped(
  't.insert',
  'insert into things (account_id, test_mode, thing_id, amount) values ($1, $2, $3, $4)',
);

/** The things that are stored, of whatever account, by their ids. */
export async function storedThings(on: TestDatabase): Promise<string[]> {
  return (await on.admin('select thing_id from alpha.things order by 1')).map((row) => String(row.thing_id));
}
