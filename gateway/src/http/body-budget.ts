import { Failure } from '@eligo/failures';

/** Bounds of the request bodies in memory. */
export interface BodyLimits {
  /** Bytes over all requests, from a body's first byte to its response. */
  readonly totalBytes: number;
  /** A body that has not arrived after `graceMs` has arrived at no less than this rate. */
  readonly leastBytesPerSecond: number;
  readonly graceMs: number;
}

/** The room of one request's body. */
export interface BodyRoom {
  /** Takes a part of the body in. Throws when there is no room for it. */
  take(bytes: number): void;
  /** The body is complete. */
  arrived(): void;
  /** How much of it is in memory. */
  bytes(): number;
  /** The request is answered: its body is no longer in memory. */
  release(): void;
}

/**
 * The memory that request bodies take. An account may have as much as is free: half of all alone, a third each of two, so that no account's
 * stalled uploads refuse another's. Uploads that are too slow are cut off.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #byAccount = new Map<string, number>();
  readonly #arriving = new Set<Arriving>();
  #taken = 0;
  #watch: NodeJS.Timeout | undefined;

  constructor(limits: Partial<BodyLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Bytes that are in memory now. */
  get takenBytes(): number {
    return this.#taken;
  }

  /** Room for the body of a request whose key is known. `cut` ends the connection of an upload that is too slow. */
  room(accountId: string, cut: () => void): BodyRoom {
    const body: Arriving = { bytes: 0, sinceMs: performance.now(), cut };
    return {
      take: (bytes) => {
        const own = this.#byAccount.get(accountId) ?? 0;
        const free = this.#limits.totalBytes - this.#taken;
        if (bytes > free) throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
        if (own + bytes > free) throw new Failure('rate_limited', { retryAfterSeconds: 1 });
        this.#byAccount.set(accountId, own + bytes);
        this.#taken += bytes;
        body.bytes += bytes;
        if (body.bytes === bytes) this.#follow(body);
      },
      arrived: () => void this.#arriving.delete(body),
      bytes: () => body.bytes,
      release: () => {
        this.#arriving.delete(body);
        const own = (this.#byAccount.get(accountId) ?? 0) - body.bytes;
        if (own > 0) this.#byAccount.set(accountId, own);
        else this.#byAccount.delete(accountId);
        this.#taken -= body.bytes;
        body.bytes = 0;
      },
    };
  }

  #follow(body: Arriving): void {
    this.#arriving.add(body);
    this.#watch ??= setTimeout(() => this.#cutSlow(), checkEveryMs).unref();
  }

  #cutSlow(): void {
    const { graceMs, leastBytesPerSecond } = this.#limits;
    const nowMs = performance.now();
    for (const body of this.#arriving) {
      const ms = nowMs - body.sinceMs;
      if (ms > graceMs && (body.bytes * 1_000) / ms < leastBytesPerSecond) body.cut();
    }
    this.#watch = this.#arriving.size > 0 ? setTimeout(() => this.#cutSlow(), checkEveryMs).unref() : undefined;
  }
}

interface Arriving {
  bytes: number;
  readonly sinceMs: number;
  readonly cut: () => void;
}

// A container of 384 MB runs the gateway in some 120 MB; a body of JSON takes several times its bytes once it is parsed.
const defaultLimits: BodyLimits = { totalBytes: 48 * 1024 * 1024, leastBytesPerSecond: 4_096, graceMs: 5_000 };
const checkEveryMs = 500;
