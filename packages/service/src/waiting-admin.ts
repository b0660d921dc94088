import { type AdminServer, startAdminServer } from './admin-server.ts';
import type { Readiness } from './health.ts';
import type { Metrics } from './metrics.ts';
import type { ServiceSettings } from './service-settings.ts';

/** The admin port of a component that starts, which may wait for NATS: it is alive, is not ready, and says why. */
export class WaitingAdmin {
  readonly #settings: ServiceSettings;
  readonly #metrics: Metrics;
  #waitsFor: Pick<Readiness, 'checks' | 'reasons'> = waitsForNats('NATS has not answered yet');
  #opening: Promise<AdminServer> | undefined;

  constructor(settings: ServiceSettings, metrics: Metrics) {
    this.#settings = settings;
    this.#metrics = metrics;
  }

  /** Opens the port: a liveness probe that finds none would have the component restarted while it waits. */
  async open(): Promise<void> {
    const { host, adminPort: port, adminNames: names } = this.#settings;
    const pages = { ready: async () => this.ready(), metrics: this.#metrics, failpoints: false };
    this.#opening = startAdminServer({ host, port, names }, pages);
    await this.#opening;
  }

  /** Why NATS is not reached. */
  tell(reason: string): void {
    this.#waitsFor = waitsForNats(`NATS is unreachable: ${reason}`);
  }

  /** NATS is there; what is left takes moments. */
  reached(): void {
    this.#waitsFor = { checks: { starting: 'failed' } };
  }

  ready(): Readiness {
    return { ready: false, status: 'unavailable', ...this.#waitsFor };
  }

  /** The port, if it is open; it still shows what it showed. */
  opened(): Promise<AdminServer | undefined> {
    return this.#opening ?? Promise.resolve(undefined);
  }
}

function waitsForNats(reason: string): Pick<Readiness, 'checks' | 'reasons'> {
  return { checks: { nats: 'failed' }, reasons: { nats: reason } };
}
