import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openDatabase } from '../src/store/database.ts';
import { groupCommit } from '../src/store/group-commit.ts';
import { newHome } from './support.ts';

function open() {
  const { db, logFile } = openDatabase(newHome());
  db.exec('create table kept (id integer primary key)');
  const commits = groupCommit(db, logFile);
  const keep = (id: number) => commits.write(() => db.prepare('insert into kept (id) values (?)').run(id).changes);
  return { db, commits, keep, file: logFile.replace(/-wal$/, '') };
}

test('closing waits for the writes that were taken, and the storage can be closed after it', async () => {
  const { db, commits, keep, file } = open();
  const taken = Array.from({ length: 600 }, (_, id) => keep(id));
  await commits.close();
  db.close();
  await Promise.all(taken);
  const again = new DatabaseSync(file);
  expect(again.prepare('select count(*) as rows from kept').get()).toEqual({ rows: 600 });
  again.close();
});

test('a write that comes after closing is refused, and closing twice is closing once', async () => {
  const { db, commits, keep } = open();
  await keep(1);
  const closing = commits.close();
  await expect(keep(2)).rejects.toThrow('The store is closed');
  await closing;
  await commits.close();
  db.close();
});
