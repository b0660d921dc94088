import type { Logger, Metrics } from '@eligo/service';
import type { Observer } from './app.ts';

/** Counts every request by route and status, and logs what nobody expected. Never what was sent. */
export function openObserver(metrics: Metrics, logger: Logger): Observer {
  const requests = metrics.histogram('http_request_seconds', 'Requests answered, by route and status', [
    'route',
    'status',
  ]);
  const unexpected = metrics.counter('http_unexpected_total', 'Requests that failed in a way that nobody expected', [
    'route',
  ]);
  return {
    answered({ routeId, requestId }, status, durationMs) {
      requests.observe({ route: routeId, status }, durationMs / 1_000);
      if (logger.isLevelEnabled('debug')) logger.debug({ requestId, route: routeId, status, durationMs }, 'answered');
    },
    unexpected(error, { routeId, requestId }) {
      unexpected.inc({ route: routeId });
      logger.error({ err: error, requestId, route: routeId }, 'a request failed unexpectedly');
    },
  };
}
