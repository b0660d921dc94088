import { type AdminServer, startAdminServer } from './admin-server.ts';
import type { Readiness } from './health.ts';
import type { Metrics } from './metrics.ts';
import type { ServiceSettings } from './service-settings.ts';

/** The admin port of a component that waits for NATS at its start: it is alive, is not ready, and says why. */
export class WaitingAdmin {
  readonly #settings: ServiceSettings;
  readonly #metrics: Metrics;
  #reason = '';
  #opening: Promise<AdminServer> | undefined;

  constructor(settings: ServiceSettings, metrics: Metrics) {
    this.#settings = settings;
    this.#metrics = metrics;
  }

  /** Opens the port when there is something to tell; until then nobody has to ask. */
  tell(reason: string): void {
    this.#reason = `NATS is unreachable: ${reason}`;
    const { host, adminPort: port, adminNames: names } = this.#settings;
    const pages = { ready: async () => this.ready(), metrics: this.#metrics, failpoints: false };
    this.#opening ??= startAdminServer({ host, port, names }, pages);
    // Whoever takes the port over hears of a failure.
    this.#opening.catch(() => undefined);
  }

  ready(): Readiness {
    return { ready: false, status: 'unavailable', checks: { nats: 'failed' }, reasons: { nats: this.#reason } };
  }

  /** The port, if it was opened; it still shows what it showed. */
  opened(): Promise<AdminServer | undefined> {
    return this.#opening ?? Promise.resolve(undefined);
  }
}
