import { expect, it } from 'vitest';
import { openAdaptivePlaces, openPlaces } from './places.ts';

/** Work that waits, and what has begun of it. */
function begun() {
  const names: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<void>((resolve) => {
      names.push(name);
      ends.set(name, resolve);
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
    return names;
  };
  return { names, work, end };
}

it('places are taken in the order of asking, by as much work as has room, and given back when it ends or fails', async () => {
  const { names, work, end } = begun();
  const places = openPlaces(4);
  const all = [
    places.use(3, work('first')),
    places.use(2, work('second')),
    places.use(1, work('third')),
    places.use(9, work('more than there are')),
  ];
  const failed = places.use(4, () => Promise.reject(new Error('in vain')));
  const last = places.use(4, work('last'));
  await new Promise((resolve) => setImmediate(resolve));
  // The third would have room, and does not overtake the second.
  expect(names).toEqual(['first']);
  expect(await end('first')).toEqual(['first', 'second', 'third']);
  expect(await end('second')).toHaveLength(3);
  expect((await end('third')).at(-1)).toBe('more than there are');
  await Promise.all([expect(failed).rejects.toThrow('in vain'), end('more than there are')]);
  expect((await end('more than there are')).at(-1)).toBe('last');
  await end('last');
  await Promise.all([...all, last]);
});

it('places grow in number while the measured part of their work is fast, up to a limit, and shrink when it is slow', async () => {
  const { names, work, end } = begun();
  let nowMs = 0;
  const places = openAdaptivePlaces({ least: 2, most: 4, fastMs: 100 }, () => nowMs);
  // Work that measures nothing, and ends at once, says nothing of how fast the others are.
  for (let at = 0; at < 5; at++) await places.use(1, async () => undefined);
  const all = Array.from({ length: 20 }, (_, at) => places.use(1, () => places.measure(work(String(at)))));
  await new Promise((resolve) => setImmediate(resolve));
  const running = () => names.length - ended;
  let ended = 0;
  const endNext = async (afterMs: number) => {
    nowMs += afterMs;
    await end(names[ended] ?? '');
    ended += 1;
    return running();
  };
  expect(running()).toBe(2);
  expect(await endNext(100)).toBe(3);
  expect([await endNext(0), await endNext(0), await endNext(0)]).toEqual([4, 4, 4]);
  // Of four that are slow, the first two leave their places to no other.
  expect([await endNext(101), await endNext(0), await endNext(0)]).toEqual([3, 2, 2]);
  while (ended < 20) await endNext(0);
  expect(names).toHaveLength(20);
  await Promise.all(all);
});

it('places are halved once by all that was slow at the same time, and again by what began after that', async () => {
  const { names, work, end } = begun();
  let nowMs = 0;
  const places = openAdaptivePlaces({ least: 1, most: 8, fastMs: 100 }, () => nowMs);
  const use = (name: string) => places.use(1, () => places.measure(work(name)));
  const started = async (some: string[]) => {
    const all = some.map(use);
    await new Promise((resolve) => setImmediate(resolve));
    return all;
  };
  // Seven that are fast open eight places.
  const fast = await started(['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7']);
  for (const name of ['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7']) await end(name);
  await Promise.all(fast);
  const lot = ['1', '2', '3', '4', '5', '6', '7', '8'];
  const slow = await started(lot);
  const next = await started(['a', 'b', 'c', 'd', 'e']);
  expect(names).toHaveLength(15);
  nowMs += 101;
  for (const name of lot) await end(name);
  await Promise.all(slow);
  expect(names.slice(15)).toEqual(['a', 'b', 'c', 'd']);
  nowMs += 101;
  for (const name of ['a', 'b', 'c', 'd']) await end(name);
  const last = await started(['g', 'h']);
  // Two places: one has `e`.
  expect(names.slice(19)).toEqual(['e', 'g']);
  for (const name of ['e', 'g', 'h']) await end(name);
  await Promise.all([...next, ...last]);
});

it('places that were halved are opened by no work that began before that, however fast it was', async () => {
  const { names, work, end } = begun();
  let nowMs = 0;
  const places = openAdaptivePlaces({ least: 2, most: 4, fastMs: 100 }, () => nowMs);
  const started = async (...some: string[]) => {
    const all = some.map((name) => places.use(1, () => places.measure(work(name))));
    await new Promise((resolve) => setImmediate(resolve));
    return all;
  };
  const first = await started('1', '2');
  await end('1');
  await end('2');
  // Four places.
  const slow = await started('3');
  nowMs = 50;
  const fast = await started('4', '5', '6');
  nowMs = 101;
  for (const name of ['3', '4', '5', '6']) await end(name);
  const next = await started('7', '8', '9');
  expect(names.slice(6)).toEqual(['7', '8']);
  for (const name of ['7', '8', '9']) await end(name);
  await Promise.all([...first, ...slow, ...fast, ...next]);
});
