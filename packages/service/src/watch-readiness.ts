import type { Readiness } from './health.ts';
import type { Metrics } from './metrics.ts';
import { oncePerScrape } from './once-per-scrape.ts';

/** Shows what `/readyz` says as metrics, so that Prometheus needs no second way to ask. */
export function watchReadiness(metrics: Metrics, look: () => Promise<Readiness>): void {
  const readiness = oncePerScrape(look);
  metrics.gauge('ready', 'Whether the component can serve: 1 or 0', async () => Number((await readiness()).ready));
  metrics.gaugeTable('readiness_check', 'Whether a readiness check passes, by check: 1 or 0', ['check'], async () =>
    // A degraded service of the gateway's tells so by its own checks.
    Object.entries((await readiness()).checks).map(
      ([check, outcome]) => [{ check }, Number(outcome !== 'failed')] as const,
    ),
  );
}
