import { declaredStatements, fullScans, roleUrl } from '@eligo/postgres';
import { expect, test } from 'vitest';
import '../src/index.ts';
import { eventsDatabase } from './support.ts';

/** By statement, why it may read an index without a condition, or a table. */
const onPurpose = new Map([
  ['events.queue', 'the queue holds only what is still to be published'],
  ['events.lag', 'the queue holds only what is still to be published, and is counted up to a bound'],
  ['events.append', 'the table has one row'],
  ['events.append_all', 'the table has one row'],
  ['events.append_own', 'the table has one row'],
  ['events.append_all_own', 'the table has one row'],
  ['events.oldest_unpublished', 'the queue holds only what is still to be published'],
  ['events.last_position', 'there is a row for each minute of 45 days at most'],
  ['events.first_lost', 'there is a row for each minute of 45 days at most'],
  ['events.forget_positions', 'there is a row for each minute of 45 days at most'],
  ['events.publish_again', 'there is a row for each minute of 45 days at most'],
  ['events.begin_repair', 'it reads the first and the last entry of the index'],
  ['events.open_repair', 'there are few or none'],
  ['events.list_dead_letters', 'there are few or none'],
  ['events.count_dead_letters', 'there are few or none'],
  ['events.request_redrive', 'there are few or none'],
  ['events.list_repairs', 'there are few or none'],
]);

test('no statement of the outbox and the inbox reads a whole table', async () => {
  const database = await eventsDatabase();
  const statements = declaredStatements().filter(({ name }) => name.startsWith('events.'));
  expect(statements.length).toBeGreaterThan(10);
  const found = await fullScans(roleUrl(database.adminUrl, 'eligo_alpha', 'alpha'), 'alpha', statements);
  const names = found.map(({ statement }) => statement.slice(0, statement.indexOf(':')));
  expect(names.filter((name) => !onPurpose.has(name))).toEqual([]);
  await database.drop();
});
