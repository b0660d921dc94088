import { expect, test } from 'vitest';
import { Transfers } from '../src/files/transfers.ts';

const megabyte = 1_000_000;

test('an account moves forty megabytes at once, then ten a second, and others move theirs [D14.126]', () => {
  let now = 0;
  const transfers = new Transfers(() => now);
  const move = (account: string, bytes: number) => {
    const transfer = transfers.begin(account);
    transfer.moved(bytes);
    transfer.end();
  };
  for (let file = 0; file < 4; file++) move('a', 10 * megabyte);
  // What is begun in time ends, whatever it moves.
  move('a', 10 * megabyte);
  expect(() => move('a', 1)).toThrow(refusedFor(1));
  move('b', 10 * megabyte);
  now = 999;
  expect(() => move('a', 1)).toThrow(refusedFor(1));
  now = 1_000;
  move('a', 30 * megabyte);
  expect(() => move('a', 1)).toThrow(refusedFor(3));
  // Later, there is no more than the burst.
  now = 100_000;
  for (let file = 0; file < 5; file++) move('a', 10 * megabyte);
  expect(() => move('a', 1)).toThrow(refusedFor(1));
});

test('bytes count while a transfer goes on, and accounts that are not kept begin anew', () => {
  let now = 0;
  const transfers = new Transfers(() => now);
  const first = transfers.begin('a');
  first.moved(41 * megabyte);
  expect(() => transfers.begin('a')).toThrow(refusedFor(1));
  const moveOne = (account: string) => {
    const transfer = transfers.begin(account);
    transfer.moved(1);
    transfer.end();
  };
  for (let other = 0; other < 10_001; other++) moveOne(`other ${other}`);
  expect(() => transfers.begin('a')).toThrow(refusedFor(1));
  now = 4_100;
  for (let other = 0; other < 20_000; other++) moveOne(`later ${other}`);
  transfers.begin('a').end();
  first.end();
});

function refusedFor(retryAfterSeconds: number) {
  return expect.objectContaining({ code: 'too_many_file_transfers', retryAfterSeconds });
}
