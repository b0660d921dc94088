import { Failure } from '@eligo/failures';
import { noCaller } from '@eligo/rpc';
import { beforeEach, describe, expect, it } from 'vitest';
import { sharedReads } from '../src/shared-reads.ts';

interface Thing {
  readonly id: string;
}

const ours = { caller: { ...noCaller, accountId: 'facct_ours' } };
const theirs = { caller: { ...noCaller, accountId: 'facct_theirs' } };

let asked: string[];
let missing: ReadonlySet<string>;
let trouble: Error | undefined;

beforeEach(() => {
  asked = [];
  missing = new Set();
  trouble = undefined;
});

const read = sharedReads<Thing>({
  async one(id, { caller, requestId }) {
    asked.push(`one ${caller?.accountId} ${requestId ?? ''} ${id}`);
    if (missing.has(id)) throw new Failure('price_not_found');
    return { id };
  },
  async many(ids, { caller }) {
    asked.push(`many ${caller?.accountId} ${ids.join(' ')}`);
    if (trouble !== undefined) throw trouble;
    // In another order than they were asked for, as a database may answer.
    return ids
      .filter((id) => !missing.has(id))
      .reverse()
      .map((id) => ({ id }));
  },
  idOf: ({ id }) => id,
});

describe('reads by id in one turn', () => {
  it('are one call for one caller, each answered with its own record', async () => {
    const found = await Promise.all(['a', 'b', 'a', 'c'].map((id) => read(id, ours)));
    expect(found.map(({ id }) => id)).toEqual(['a', 'b', 'a', 'c']);
    expect(asked).toEqual(['many facct_ours a b c']);
  });

  it('of two callers never share one', async () => {
    await Promise.all([read('a', ours), read('b', theirs), read('c', ours), read('d', theirs)]);
    expect(asked.sort()).toEqual(['many facct_ours a c', 'many facct_theirs b d']);
  });

  it('are sent as they are when they are alone', async () => {
    await read('a', { ...ours, requestId: 'req_1' });
    expect(asked).toEqual(['one facct_ours req_1 a']);
  });

  it('leave what the batch does not have to a call of its own, whose refusal is for it alone', async () => {
    missing = new Set(['b']);
    const [first, second] = await Promise.allSettled([read('a', ours), read('b', { ...ours, requestId: 'req_2' })]);
    expect(first).toEqual({ status: 'fulfilled', value: { id: 'a' } });
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'price_not_found' } });
    expect(asked).toEqual(['many facct_ours a b', 'one facct_ours req_2 b']);
  });

  it('fail together when the batch call fails, and the next reads make a new call', async () => {
    trouble = new Failure('service_unavailable');
    const failed = await Promise.allSettled([read('a', ours), read('b', ours)]);
    expect(failed.map((one) => one.status === 'rejected' && one.reason)).toEqual([trouble, trouble]);
    trouble = undefined;
    await expect(read('a', ours)).resolves.toEqual({ id: 'a' });
  });

  it('take as many calls as their number needs', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, index) => read(`p${index}`, ours)));
    expect(asked.map((line) => line.split(' ').length - 2)).toEqual([100, 100, 50]);
  });
});
