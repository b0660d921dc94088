import { checkLedger, type Fault, type Findings, lookAtProcessor, lookTwice } from '@eligo/cli';
import type { Database } from '@eligo/postgres';
import { openProcessors, type Processors } from '@eligo/processor';
import { waitUntil } from '@eligo/testkit';
import { expect, it } from 'vitest';
import { newCart, type RunningShop } from '../src/crashes/running-shop.ts';
import { confirm } from '../src/shop.ts';

/** That the balance at the sandbox is compared to the cent while money moves. */
export function describeMovingBalance(started: () => { readonly running: RunningShop; readonly database: Database }) {
  const pay = async (running: RunningShop) => {
    const { sessionId, card } = await newCart(running);
    expect((await confirm(running.api, sessionId, card)).status).toBe(200);
  };

  async function withProcessors(work: (processors: Processors) => Promise<void>): Promise<void> {
    const { url, key } = started().running.eligo.processor;
    const processors = openProcessors({ ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: key });
    try {
      await work(processors);
    } finally {
      processors.close();
    }
  }

  const ofBalance = (faults: readonly Fault[]) => faults.filter(({ fault }) => fault === 'processor_balance_differs');

  it('reports a balance that is off by 100 cents although its figures move between the two looks [D14.157]', async () => {
    const { running, database } = started();
    const { admin } = running.eligo.database;
    const add = (cents: number) =>
      admin(
        `update refunds.ledger_totals set amount_cents = amount_cents + $1 where ledger_account = 'processor_balance'
           and (grain = 'day' or begins_on = (select max(begins_on) from refunds.ledger_totals where grain = 'month'))`,
        [cents],
      );
    await add(100);
    try {
      await withProcessors(async (processors) => {
        const details: string[] = [];
        const look = async (findings: Findings) => {
          await lookAtProcessor(database, processors, findings);
          details.push(...ofBalance(findings.faults).map(({ detail }) => detail));
        };
        const { faults } = await lookTwice(look, () => pay(running));
        expect(ofBalance(faults)).toEqual([expect.objectContaining({ state: 'wrong', test_mode: true })]);
        expect(details).toHaveLength(1);
        expect(ofBalance(faults)[0]?.detail).not.toBe(details[0]);
      });
    } finally {
      await add(-100);
    }
  });

  it('finds no difference of the balance while cards are charged and the ledger is some seconds behind [D14.157]', async () => {
    const { running, database } = started();
    await withProcessors(async (processors) => {
      let paying = true;
      const paySeveral = async () => {
        for (let paid = 0; paid < 3; paid += 1) await pay(running);
      };
      const paid = Promise.all([paySeveral(), paySeveral(), paySeveral()]);
      const ended = paid.finally(() => {
        paying = false;
      });
      let looks = 0;
      const found: Fault[] = [];
      while (paying) {
        await lookTwice(
          async (findings) => {
            await lookAtProcessor(database, processors, findings);
            found.push(...findings.faults.filter(({ state }) => state === 'wrong'));
          },
          async () => undefined,
        );
        looks += 1;
      }
      await ended;
      expect(looks).toBeGreaterThan(0);
      expect(found).toEqual([]);
    });
    // The next test finds nothing on its way.
    const isQuiet = async () => (await checkLedger(database)).length === 0;
    await waitUntil(isQuiet, { withinMs: 30_000, what: 'the ledger to agree' });
  });
}
