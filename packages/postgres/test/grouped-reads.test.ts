import { describe, expect, it } from 'vitest';
import { openGroupedReads, type Scope } from '../src/index.ts';

const scope = { accountId: 'facct_a', testMode: true };
const others = { accountId: 'facct_b', testMode: true };

/** Reads that double a number, each held until the test lets it go; one with `bad` fails. */
function openDoubles(bad?: number) {
  const asked: (readonly number[])[] = [];
  const held: (() => void)[] = [];
  const reads = openGroupedReads<number, number>(async (_scope: Scope, numbers) => {
    asked.push(numbers);
    await new Promise<void>((go) => held.push(go));
    if (bad !== undefined && numbers.includes(bad)) throw new Error(`cannot double ${bad}`);
    return numbers.map((number) => 2 * number);
  });
  const letGo = async () => {
    await turn();
    while (held.length > 0) {
      held.shift()?.();
      await turn();
    }
  };
  return { asked, held, letGo, reads };
}

/** What came in this turn of the event loop has begun. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('reads of one account', () => {
  it('begin at the end of their turn, and those that come meanwhile share a statement, each with its own result', async () => {
    const { asked, letGo, reads } = openDoubles();
    const first = reads.submit(scope, 1);
    await turn();
    expect(asked).toEqual([[1]]);
    const results = [first, ...[2, 3].map((number) => reads.submit(scope, number))];
    await letGo();
    expect(await Promise.all(results)).toEqual([2, 4, 6]);
    expect(asked).toEqual([[1], [2, 3]]);
  });

  it('see what was committed before they were submitted: no read joins a statement that has begun', async () => {
    const { asked, letGo, reads } = openDoubles();
    const first = reads.submit(scope, 1);
    await turn();
    const second = reads.submit(scope, 1);
    await letGo();
    await Promise.all([first, second]);
    expect(asked).toEqual([[1], [1]]);
  });

  it('do not fail because of one that fails', async () => {
    const { letGo, reads } = openDoubles(3);
    const results = [1, 2, 3, 4].map((number) => reads.submit(scope, number).catch((error: Error) => error.message));
    await letGo();
    expect(await Promise.all(results)).toEqual([2, 4, 'cannot double 3', 8]);
  });

  it('are repeated alone when the connection of their group is lost: a read may be carried out twice', async () => {
    let isLost = true;
    const reads = openGroupedReads<number, number>(async (_scope: Scope, numbers) => {
      if (numbers.length > 1 && isLost) {
        isLost = false;
        throw new Error('Connection terminated unexpectedly');
      }
      return numbers.map((number) => 2 * number);
    });
    expect(await Promise.all([1, 2, 3].map((number) => reads.submit(scope, number)))).toEqual([2, 4, 6]);
    expect(isLost).toBe(false);
  });

  it('wait a tenth of a second for a group whose connection is silent, and no longer', async () => {
    const { asked, held, letGo, reads } = openDoubles();
    const first = reads.submit(scope, 1);
    await turn();
    const silent = [2, 3].map((number) => reads.submit(scope, number));
    held.shift()?.();
    await first;
    await expect.poll(() => asked).toHaveLength(2);
    const next = [4, 5].map((number) => reads.submit(scope, number));
    await expect.poll(() => asked).toEqual([[1], [2, 3], [4, 5]]);
    await letGo();
    expect(await Promise.all([...silent, ...next])).toEqual([4, 6, 8, 10]);
  });

  it('do not wait for those of another account', async () => {
    const { asked, letGo, reads } = openDoubles();
    const results = [reads.submit(scope, 1), reads.submit(others, 2)];
    await turn();
    expect(asked).toEqual([[1], [2]]);
    await letGo();
    expect(await Promise.all(results)).toEqual([2, 4]);
  });
});
