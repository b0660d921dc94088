import { HealthService } from '@eligo/proto/health/v1/health';
import { implement, type ServiceHandlers } from '@eligo/rpc';
import type { Readiness } from './health.ts';
import { oncePerScrape } from './once-per-scrape.ts';

/** Tells the gateway what `/readyz` of the admin port says. */
export function healthHandlers(ready: () => Promise<Readiness>): ServiceHandlers {
  // Several gateways ask, each every second.
  const shared = oncePerScrape(ready);
  return implement(HealthService, {
    async check() {
      const { status, checks } = await shared();
      return { status, failedChecks: Object.keys(checks).filter((name) => checks[name] === 'failed') };
    },
  });
}
