import type { Constellation } from '@eligo/testkit';
import { describe, expect, it } from 'vitest';
import { runRolling } from '../src/rolling/run-rolling.ts';

/** Two gateways and two of a service; `npm run -s e2e:rolling` restarts two of each. */
export const twoOfSome = { gateway: 2, catalog: 2 };

/** How long a stopping gateway serves on: many times what the load balancer needs to notice. */
export const drainDelay = { ELIGO_DRAIN_DELAY_MS: '3000' };

/** A restart of one replica after the other, behind a load balancer that follows `/readyz`. */
export function describeRolling(started: () => Constellation): void {
  describe('a rolling restart', () => {
    it('restarts two gateways and two of catalog under load without one failed request [D14.135, D14.210]', async () => {
      // Side by side, as deployments roll.
      const rounds = [
        ['gateway', 'catalog'],
        ['gateway-2', 'catalog-2'],
      ];
      const report = await runRolling(started(), rounds, 2);
      console.log(`rolling: ${JSON.stringify(report)}`);
      expect(report.failures).toEqual([]);
      expect(report.sales).toBeGreaterThan(rounds.length);
      for (const sent of report.sent) expect(sent).toBeGreaterThan(0);
    }, 300_000);
  });
}
