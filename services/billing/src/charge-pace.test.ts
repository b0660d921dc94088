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

  it('forgets accounts whose bucket is full, and no pause', () => {
    const pace = createChargePace({ perSecond: 10, burst: 1 });
    pace.pause(scope, at(60_000));
    for (let n = 0; n < 25_000; n++) pace.take({ accountId: String(n), testMode: true }, at(n));
    expect(pace.pausedUntil(scope, at(30_000))).toEqual(at(60_000));
  });
});
