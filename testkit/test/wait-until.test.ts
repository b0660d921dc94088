import { expect, it } from 'vitest';
import { waitUntil } from '../src/index.ts';

it('gives what it waited for as soon as it is there', async () => {
  let looks = 0;
  await expect(waitUntil(() => (++looks === 3 ? 'here' : undefined), { everyMs: 1 })).resolves.toBe('here');
});

it('fails after the deadline with what the last look threw', async () => {
  const look = () => Promise.reject(new Error('still dark'));
  await expect(waitUntil(look, { withinMs: 5, everyMs: 1, what: 'the light' })).rejects.toMatchObject({
    message: 'Timed out after 5 ms waiting for: the light',
    cause: new Error('still dark'),
  });
});
