import type { Constellation } from '@eligo/testkit';
import { describe, expect, it } from 'vitest';
import { runRolling } from '../src/rolling/run-rolling.ts';

/** Two gateways and two of some services; `npm run -s e2e:rolling` restarts two of each. */
export const twoOfSome = { gateway: 2, catalog: 2, billing: 2, webhooks: 2 };

/** How long a stopping gateway serves on: many times what the load balancer needs to notice. */
export const drainDelay = { ELIGO_DRAIN_DELAY_MS: '3000' };

/** A restart of one replica after the other, behind a load balancer that follows `/readyz`. */
export function describeRolling(started: () => Constellation): void {
  describe('a rolling restart', () => {
    it('restarts two gateways, and two of catalog, billing and webhooks, under load without one failed request or lost webhook [D14.135, D14.210]', async () => {
      const names = Object.keys(twoOfSome);
      // Side by side, as deployments roll.
      const rounds = [names, names.map((name) => `${name}-2`)];
      const report = await runRolling(started(), rounds, 2);
      console.log(`rolling: ${JSON.stringify(report)}`);
      expect(report.failures).toEqual([]);
      expect(report.sales).toBeGreaterThan(rounds.length);
      // A completed and a refunded session, the refund, and the subscription.
      expect(report.events).toBeGreaterThanOrEqual(4 * report.sales);
      for (const sent of report.sent) expect(sent).toBeGreaterThan(0);
      const answered = rounds.flat().flatMap((name) => Object.values(report.answered[name] ?? { none: 0 }));
      expect(Math.min(...answered)).toBeGreaterThan(0);
    }, 300_000);
  });
}
