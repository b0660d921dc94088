import type { Progress } from '@eligo/events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { nextPace, WritePace } from '../src/write-pace.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const unheld = Number.POSITIVE_INFINITY;
const keptUp: Progress = { behindMs: 0, isGrowing: false };
const falling: Progress = { behindMs: 3_000, isGrowing: true };

describe('the pace after a look', () => {
  test('delays no write while events are at most 400 ms behind', () => {
    expect(nextPace(unheld, 100, keptUp)).toBe(unheld);
    expect(nextPace(unheld, 100, { behindMs: 400, isGrowing: true })).toBe(unheld);
  });

  test('is below the pace at which writes came when events fall behind, more so the further they are', () => {
    expect(nextPace(unheld, 100, { behindMs: 500, isGrowing: true })).toBe(93);
    expect(nextPace(unheld, 100, falling)).toBe(80);
    expect(nextPace(50, 100, falling)).toBe(40);
  });

  test('stays as it is while the backlog shrinks, as it does after an outage: what waits is not mended by fewer payments', () => {
    expect(nextPace(unheld, 100, { behindMs: 600_000, isGrowing: false })).toBe(unheld);
    expect(nextPace(70, 70, { behindMs: 600, isGrowing: false })).toBe(70);
  });

  test('never falls below twenty a second', () => {
    let pace = unheld;
    for (let look = 0; look < 100; look++) pace = nextPace(pace, Math.min(pace, 100), falling);
    expect(pace).toBe(20);
  });

  test('rises once events keep up, and delays no write when fewer arrive than it admits', () => {
    expect(nextPace(70, 70, keptUp)).toBeCloseTo(78);
    expect(nextPace(70, 10, keptUp)).toBe(unheld);
  });

  test('lets everybody in when it cannot be found out how far events are', () => {
    expect(nextPace(20, 100, undefined)).toBe(unheld);
  });
});

describe('new writes', () => {
  test('do not wait while events keep up, and a few of them are no reason to look', async () => {
    const look = vi.fn(async () => keptUp);
    const pace = new WritePace({ look });
    for (let second = 0; second < 3; second++) {
      expect(pace.admit('one')).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(look).not.toHaveBeenCalled();
    for (let write = 0; write < 20; write++) expect(pace.admit('one')).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(look).toHaveBeenCalledTimes(1);
  });

  test('are spread over time when events fall behind, and none waits for more than a second [D14.64]', async () => {
    const { pace, progress } = await behind(20);
    const waits: number[] = [];
    const refusals: unknown[] = [];
    for (let write = 0; write < 60; write++) {
      const since = performance.now();
      pace.admit('one')?.then(
        () => waits.push(performance.now() - since),
        (error: unknown) => refusals.push(error),
      );
    }
    await vi.advanceTimersByTimeAsync(0);
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals[0]).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: expect.any(Number) });
    await vi.advanceTimersByTimeAsync(1_500);
    expect(waits.length + refusals.length).toBe(60);
    expect(waits.length).toBeGreaterThan(3);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
    expect(pace.stats().waiting).toBe(0);
    progress.now = keptUp;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(pace.admit('one')).toBeUndefined();
  });

  test('of an account that sends few go before the many of another', async () => {
    const { pace } = await behind(100);
    const admitted: string[] = [];
    const write = (account: string) => pace.admit(account)?.then(() => admitted.push(account), ignored);
    for (let at = 0; at < 40; at++) void write('many');
    void write('few');
    await vi.advanceTimersByTimeAsync(100);
    expect(admitted).toContain('few');
    expect(admitted.length).toBeLessThan(15);
  });

  test('are let in at once when events are not looked at any more, be it that the bus is away', async () => {
    const { pace, progress } = await behind(20);
    const waiting = Array.from({ length: 5 }, () => pace.admit('one'));
    progress.now = new Error('NATS is away');
    await vi.advanceTimersByTimeAsync(200);
    await Promise.all(waiting);
    expect(pace.admit('one')).toBeUndefined();
  });

  test('that wait when the component stops are let in', async () => {
    const { pace } = await behind(20);
    const waiting = Array.from({ length: 10 }, () => pace.admit('one'));
    pace.stop();
    await Promise.all(waiting);
  });

  // A pace under so many writes a second whose events have begun to fall behind.
  async function behind(perSecond: number) {
    const progress: { now: Progress | Error } = { now: falling };
    const pace = new WritePace({
      look: async () => {
        if (progress.now instanceof Error) throw progress.now;
        return progress.now;
      },
    });
    for (let write = 0; write < Math.max(10, perSecond / 5); write++) pace.admit('one');
    await vi.advanceTimersByTimeAsync(200);
    expect(pace.stats().perSecond).toBeLessThanOrEqual(Math.max(40, perSecond));
    return { pace, progress };
  }
});

function ignored(): undefined {
  return undefined;
}
