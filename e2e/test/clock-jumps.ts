import { type Constellation, waitUntil } from '@eligo/testkit';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { booksAgree } from '../src/books.ts';
import { newCart, type RunningShop } from '../src/crashes/running-shop.ts';
import { confirm, openShop } from '../src/shop.ts';

const reads = ['/v1/shipping_rates', '/v1/charges', '/v1/invoices', '/v1/refunds', '/v1/webhooks'];

/** That requests go on when the wall clock of the machine is set; the clock that is set here is the `Date` of the process, from which Eligo reads it. */
export function describeClockJumps(started: () => Constellation): void {
  describe('the wall clock', () => {
    let running: RunningShop;
    beforeAll(async () => {
      const eligo = started();
      running = { eligo, api: eligo.api(), shop: await openShop(eligo.api()), account: eligo.account };
    });
    afterEach(() => void vi.useRealTimers());

    it.each([
      ['an hour ahead', 3_600_000],
      ['an hour back', -3_600_000],
    ])(
      'set %s and then right again, makes no read and no confirm fail [D14.227]',
      async (_, jumpMs) => {
        const carts = await Promise.all(Array.from({ length: 3 }, () => newCart(running)));
        const statuses: number[] = [];
        let isOver = false;
        const reading = reads.map(async (path) => {
          while (!isOver) statuses.push((await running.api.get(path)).status);
        });
        const goesOn = async () => {
          const enough = statuses.length + 25;
          for (const { sessionId, card } of carts.splice(0, 1))
            statuses.push((await confirm(running.api, sessionId, card)).status);
          await waitUntil(() => statuses.length >= enough, { what: 'that reads go on' });
        };
        await goesOn();
        vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: Date.now() + jumpMs });
        await goesOn();
        vi.useRealTimers();
        await goesOn();
        isOver = true;
        await Promise.all(reading);
        expect(statuses.filter((status) => status !== 200)).toEqual([]);
        await booksAgree(running.eligo);
      },
      60_000,
    );
  });
}
