import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { createChargePace } from './charge-pace.ts';

const scope = { accountId: newId('account'), testMode: true };
const other = { ...scope, testMode: false };
const at = (ms: number) => new Date(Date.UTC(2026, 3, 1) + ms);

describe('the pace of charges', () => {
  it('lets a burst through, then as many a second as it says, and tells the others their turns in order [D14.190]', () => {
    const pace = createChargePace({ perSecond: 10, burst: 3 });
    const taken = Array.from({ length: 6 }, () => pace.take(scope, at(0)));
    expect(taken).toEqual([undefined, undefined, undefined, at(100), at(200), at(300)]);
    expect(pace.take(scope, at(100))).toBeUndefined();
    expect(pace.take(scope, at(100))).toEqual(at(400));
    let through = 0;
    for (let ms = 200; ms <= 2_100; ms += 10) if (pace.take(scope, at(ms)) === undefined) through += 1;
    expect(through).toBe(20);
  });

  it('pauses one account alone, and none of its turns comes before the end of the pause', () => {
    const pace = createChargePace({ perSecond: 10, burst: 3 });
    pace.pause(scope, at(7_000));
    pace.pause(scope, at(2_000));
    expect(pace.pausedUntil(scope, at(0))).toEqual(at(7_000));
    expect([pace.take(scope, at(0)), pace.take(scope, at(10))]).toEqual([at(7_000), at(7_100)]);
    expect(pace.take(other, at(0))).toBeUndefined();
    expect(pace.pausedUntil(scope, at(7_000))).toBeUndefined();
    expect(pace.take(scope, at(7_000))).toBeUndefined();
  });

  it('divides the tokens of a second and of a burst by the instances that share them, and gives them back when they leave [D14.206]', async () => {
    const pace = createChargePace({ perSecond: 10, burst: 4 });
    const through = (fromMs: number, toMs: number) => {
      let count = 0;
      for (let ms = fromMs; ms < toMs; ms += 10) if (pace.take(scope, at(ms)) === undefined) count += 1;
      return count;
    };
    await pace.share(at(0), 2_000, async () => 2);
    expect(through(0, 10_000)).toBe(1 + 50);
    await pace.share(at(10_000), 2_000, async () => 1);
    expect(through(10_000, 20_000)).toBe(100);
  });

  it('asks for the instances once in a while, and at once after a failure or when the clock was set back [D14.206]', async () => {
    const pace = createChargePace({ perSecond: 10, burst: 1 });
    const asked: number[] = [];
    const askAt = (ms: number, instances: () => number = () => 1) =>
      pace.share(at(ms), 2_000, async () => {
        asked.push(ms);
        return instances();
      });
    for (const ms of [0, 1_999, 2_000, 2_001, -60_000, -59_000]) await askAt(ms);
    const fail = () => {
      throw new Error('the database is away');
    };
    await expect(askAt(9_000, fail)).rejects.toThrow('away');
    await askAt(9_001);
    expect(asked).toEqual([0, 2_000, -60_000, 9_000, 9_001]);
  });

  it('goes on at once when the clock is set back by hours, also for those who wait and behind a pause [D14.190, D14.333]', () => {
    const pace = createChargePace({ perSecond: 10, burst: 3 });
    const ahead = 4 * 3_600_000;
    const turns = (count: number, ms: number) => Array.from({ length: count }, () => pace.take(scope, at(ms)));
    expect(turns(5, ahead)).toEqual([undefined, undefined, undefined, at(ahead + 100), at(ahead + 200)]);
    // The charge before it may have been of this time.
    expect(turns(2, 0)).toEqual([at(100), at(200)]);
    expect(turns(2, 100)).toEqual([undefined, at(300)]);
    pace.pause(scope, at(ahead + 7_000));
    expect(pace.pausedUntil(scope, at(200))).toEqual(at(60_200));
    expect(pace.pausedUntil(scope, at(60_200))).toBeUndefined();
    expect(pace.take(scope, at(60_200))).toBeUndefined();
  });

  it('tells a long queue to ask again within ten minutes [D14.333]', () => {
    const pace = createChargePace({ perSecond: 10, burst: 1 });
    let last: Date | undefined;
    for (let waiting = 0; waiting < 7_000; waiting++) last = pace.take(scope, at(0));
    expect(last).toEqual(at(600_000));
  });

  it('forgets accounts whose bucket is full, and no pause', () => {
    const pace = createChargePace({ perSecond: 10, burst: 1 });
    pace.pause(scope, at(60_000));
    for (let n = 0; n < 25_000; n++) pace.take({ accountId: String(n), testMode: true }, at(n));
    expect(pace.pausedUntil(scope, at(30_000))).toEqual(at(60_000));
  });
});
