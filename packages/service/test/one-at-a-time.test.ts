import { expect, test } from 'vitest';
import { oneAtATime } from '../src/index.ts';

test('does one piece of work after the other, in their order, and goes on after one that fails', async () => {
  const inTurn = oneAtATime();
  const seen: string[] = [];
  const piece = (name: string) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const done = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(piece(name))));
  expect(done).toMatchObject([{ value: 'a' }, { reason: { message: 'b failed' } }, { value: 'c' }]);
  expect(seen).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});
