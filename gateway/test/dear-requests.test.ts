import { describe, expect, test } from 'vitest';
import { DearRequests } from '../src/http/dear-requests.ts';

const large = 100_000;
const account = (accountId: string, testMode = false) => ({ accountId, testMode });

describe('requests with large bodies', () => {
  test('run one at a time for an account, and beside those of other accounts [D14.139]', async () => {
    const dear = new DearRequests({ atOnce: 2 });
    const first = await dear.enter(account('facct_1'), large);
    const order: string[] = [];
    const second = Promise.resolve(dear.enter(account('facct_1'), large)).then((leave) => {
      order.push('second of one');
      return leave;
    });
    const other = await dear.enter(account('facct_2'), large);
    order.push('of another');
    other?.();
    first?.();
    (await second)?.();
    expect(order).toEqual(['of another', 'second of one']);
  });

  test('take turns by account, live mode before test mode [D14.139]', async () => {
    const dear = new DearRequests({ atOnce: 1 });
    const running = await dear.enter(account('facct_0'), large);
    const order: string[] = [];
    const wait = (name: string, accountId: string, testMode = false) =>
      Promise.resolve(dear.enter(account(accountId, testMode), large)).then((leave) => {
        order.push(name);
        leave?.();
      });
    const all = [
      wait('test', 'facct_t', true),
      wait('a1', 'facct_a'),
      wait('a2', 'facct_a'),
      wait('b1', 'facct_b'),
      wait('a3', 'facct_a'),
    ];
    running?.();
    await Promise.all(all);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3', 'test']);
  });

  test('are refused where too many of the account wait, and after a bounded wait [D14.139]', async () => {
    const dear = new DearRequests({ atOnce: 1, waitingOfAccount: 1, longestWaitMs: 50 });
    const running = await dear.enter(account('facct_1'), large);
    const late = Promise.resolve(dear.enter(account('facct_1'), large));
    expect(() => dear.enter(account('facct_1'), large)).toThrow('rate_limited');
    await expect(late).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    running?.();
    expect(await dear.enter(account('facct_1'), large)).toBeTypeOf('function');
  });

  test('are large by their bodies: small ones never wait [D14.139]', async () => {
    const dear = new DearRequests({ atOnce: 1 });
    await dear.enter(account('facct_1'), large);
    expect(dear.enter(account('facct_1'), 8_192)).toBeUndefined();
  });
});
