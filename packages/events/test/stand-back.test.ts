import type { ConsumerInfo } from 'nats';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StandBack } from '../src/stand-back.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const consumer = (waiting: number) =>
  ({ num_waiting: waiting, delivered: { consumer_seq: 7, stream_seq: 9 }, created: 'then' }) as ConsumerInfo;

const looked = (standBack: StandBack, waiting: number, laterMs: number) => {
  vi.advanceTimersByTime(laterMs);
  return standBack.isFor(consumer(waiting));
};

test('a process takes a consumer over once no process has waited for events for the whole time', () => {
  const standBack = new StandBack(5_000);
  expect(looked(standBack, 1, 0)).toBe(true);
  for (let second = 1; second < 5; second += 1) expect(looked(standBack, 0, 1_000), `${second} s`).toBe(true);
  expect(looked(standBack, 0, 1_000)).toBe(false);
});

test('time in which a process did not look at the consumer does not count: NATS was away, or the process was busy', () => {
  const standBack = new StandBack(5_000);
  expect(looked(standBack, 1, 0)).toBe(true);
  expect(looked(standBack, 0, 20_000)).toBe(true);
  for (let second = 1; second < 5; second += 1) expect(looked(standBack, 0, 1_000), `${second} s`).toBe(true);
  expect(looked(standBack, 0, 20_000)).toBe(true);
  for (let second = 1; second < 5; second += 1) expect(looked(standBack, 0, 1_000), `${second} s`).toBe(true);
  expect(looked(standBack, 0, 1_000)).toBe(false);
});
