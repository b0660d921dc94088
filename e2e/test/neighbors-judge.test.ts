import { describe, expect, it } from 'vitest';
import { missesOf } from '../src/neighbors/judge.ts';
import type { Neighborhood } from '../src/neighbors/measure-neighbors.ts';

const good: Neighborhood = {
  ...{ attack: 'a', confirmsPerSecond: 30, p99Ms: 300, answered: 1, refused: 1 },
  ...{ keptShare: 0.8, keptOfProcessor: 0.8, keptOfPostgres: 0.8, slowdown: 1.5 },
  ...{ attackMsPerSecond: 100, attackPostgresMsPerSecond: 100, aloneMsPerSecond: 600 },
  ...{ waitsMsPerSecond: 50, waitsAloneMsPerSecond: 50 },
};

describe('the goal of neighbors', () => {
  it.each<[string, Partial<Neighborhood>, string[]]>([
    ['is met', {}, []],
    ['counts the confirms where processes hardly waited', { keptShare: 0.65 }, ['a: kept 0.65 of the confirms']],
    [
      'counts the confirms where nothing says that processes waited',
      { keptShare: 0.65, waitsMsPerSecond: undefined, waitsAloneMsPerSecond: undefined },
      ['a: kept 0.65 of the confirms'],
    ],
    ['counts the processor where they waited beside the attack', { keptShare: 0.5, waitsMsPerSecond: 600 }, []],
    ['counts the processor where they waited without it', { keptShare: 0.5, waitsAloneMsPerSecond: 600 }, []],
    [
      'counts both where they waited',
      { keptShare: 0.5, keptOfProcessor: 0.6, waitsMsPerSecond: 600 },
      ['a: kept 0.60 of the processor'],
    ],
    ['has enough confirms where they waited', { keptShare: 0.75, keptOfProcessor: 0.6, waitsMsPerSecond: 600 }, []],
    ['counts the 99th percentile', { slowdown: 3.1 }, ['a: p99 3.1 times as long']],
    ['counts Postgres', { keptOfPostgres: 0.45 }, ['a: kept 0.45 of Postgres']],
    ['has reads within a second', { readsMs: 900, readsAloneMs: 5 }, []],
    ['counts reads beyond it', { readsMs: 1_200, readsAloneMs: 5 }, ['a: reads took 1200 ms']],
    ['counts deliveries beyond it', { deliveriesMs: 20_000, deliveriesAloneMs: 40 }, ['a: deliveries took 20000 ms']],
    [
      'allows slow ones on a machine that is slow without an attack',
      { deliveriesMs: 1_200, deliveriesAloneMs: 500 },
      [],
    ],
  ])('%s', (_case, changed, misses) => {
    expect(missesOf({ ...good, ...changed })).toEqual(misses);
  });

  it('can be less for an account that asks for all of the process itself', () => {
    expect(missesOf({ ...good, keptShare: 0.5 }, 0.45)).toEqual([]);
    expect(missesOf({ ...good, keptShare: 0.4 }, 0.45)).toEqual(['a: kept 0.40 of the confirms']);
  });
});
