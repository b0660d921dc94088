import { NatsError } from 'nats';
import { type EventLogger, errorLabel } from './logger.ts';
import { natsTlsFailure } from './nats-tls.ts';

/** What is watched while NATS is away. */
export interface ReachabilityOptions {
  readonly service: string;
  readonly logger: EventLogger;
  /** How often to log that the server is unreachable. */
  readonly tellEveryMs: number;
  readonly usesTls: boolean;
  /** Told each reason why there is no connection. */
  readonly onUnreachable?: ((reason: string) => void) | undefined;
}

/** Knows why NATS is not reached, and says so in the log: at once when it is for its TLS, and otherwise when it lasts. */
export class Reachability {
  readonly #options: ReachabilityOptions;
  #timer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #isOfTls = false;
  #toldTlsAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  /** Why there is no connection, in plain words; undefined if there is one or nothing is known yet. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The connection is gone or not there yet. `look` is called from time to time to find out why. */
  lost(look?: () => void): void {
    look?.();
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      look?.();
      this.#tell();
    }, this.#options.tellEveryMs).unref();
  }

  /** A try to connect has failed. */
  failed(error: unknown): void {
    const tls = natsTlsFailure(error);
    const reason = tls ?? reasonOf(error, this.#options.usesTls);
    const isNews = reason !== this.#problem;
    this.#problem = reason;
    this.#isOfTls = tls !== undefined;
    if (isNews) {
      this.#toldTlsAt = Number.NEGATIVE_INFINITY;
      this.#options.onUnreachable?.(reason);
      if (this.#isOfTls) this.#tell();
    }
  }

  /** There is a connection, or none is wanted any more. */
  found(): void {
    clearInterval(this.#timer);
    this.#problem = undefined;
    this.#isOfTls = false;
  }

  #tell(): void {
    const { service, logger } = this.#options;
    const fields = { service, ...(this.#problem === undefined ? {} : { error: this.#problem }) };
    if (!this.#isOfTls) {
      logger.warn(fields, 'NATS is unreachable; waiting');
      return;
    }
    if (performance.now() - this.#toldTlsAt < tlsTellEveryMs) return;
    this.#toldTlsAt = performance.now();
    logger.error(fields, 'TLS handshake with NATS failed; check the certificate, host name and ELIGO_NATS_TLS_FOLDER');
  }
}

const tlsTellEveryMs = 30_000;

function reasonOf(error: unknown, usesTls: boolean): string {
  if (error === undefined || error === null) return 'the server closed the connection';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'the server closed the connection';
  // By TLS 1.3 a client is refused after the handshake, which the library takes for silence.
  if (code === 'TIMEOUT' && usesTls) return 'no answer; the server may refuse the client certificate';
  const known = error instanceof NatsError ? words.get(code) : undefined;
  return known ?? errorLabel(error);
}

const words = new Map([
  ['CONNECTION_REFUSED', 'connection refused'],
  ['AUTHORIZATION_VIOLATION', 'user or password refused'],
  ['TIMEOUT', 'no answer'],
]);
