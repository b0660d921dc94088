import { Failure } from '@eligo/failures';

/** Bounds of the request bodies in memory. */
export interface BodyLimits {
  /** Bytes over all requests, from a body's first byte to its response. */
  readonly totalBytes: number;
  /** How slowly a body may arrive. */
  readonly body: LeastRate;
  /** How slowly the body of an upload may arrive, which is not kept in memory but has one of few places. */
  readonly upload: LeastRate;
}

/** What has not arrived after `graceMs` has arrived at no less than this rate. */
export interface LeastRate {
  readonly bytesPerSecond: number;
  readonly graceMs: number;
}

/** The room of one request's body. */
export interface BodyRoom {
  /** The body is read from now on: it is cut off if it stays away or comes too slowly. */
  awaits(): void;
  /** The same of an upload, by the bytes that its connection has received. */
  awaitsUpload(receivedBytes: () => number): void;
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
  #dueMs = 0;

  constructor(limits: Partial<BodyLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Bytes that are in memory now. */
  get takenBytes(): number {
    return this.#taken;
  }

  /** Room for the body of a request whose key is known. `cut` ends the connection of an upload that is too slow. */
  room(accountId: string, cut: () => void): BodyRoom {
    const body = { bytes: 0 };
    let arriving: Arriving | undefined;
    const follow = (rate: LeastRate, bytes: () => number) => {
      arriving = { bytes, rate, sinceMs: performance.now(), cut };
      this.#follow(arriving);
    };
    const arrived = () => {
      if (arriving !== undefined) this.#arriving.delete(arriving);
    };
    return {
      awaits: () => follow(this.#limits.body, () => body.bytes),
      awaitsUpload: (receivedBytes) => {
        const before = receivedBytes();
        follow(this.#limits.upload, () => receivedBytes() - before);
      },
      take: (bytes) => {
        const own = this.#byAccount.get(accountId) ?? 0;
        const free = this.#limits.totalBytes - this.#taken;
        if (bytes > free) throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
        if (own + bytes > free) throw new Failure('rate_limited', { retryAfterSeconds: 1 });
        this.#byAccount.set(accountId, own + bytes);
        this.#taken += bytes;
        body.bytes += bytes;
      },
      arrived,
      bytes: () => body.bytes,
      release: () => {
        arrived();
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
    if (this.#watch === undefined) this.#look();
  }

  #look(): void {
    this.#dueMs = performance.now() + checkEveryMs;
    this.#watch = setTimeout(() => this.#cutSlow(), checkEveryMs).unref();
  }

  #cutSlow(): void {
    const nowMs = performance.now();
    // The process stood still for so long: what arrived meanwhile is not read yet.
    const lateMs = Math.max(0, nowMs - this.#dueMs);
    for (const body of this.#arriving) {
      body.sinceMs = Math.min(nowMs, body.sinceMs + lateMs);
      const { sinceMs, rate, bytes, cut } = body;
      const ms = nowMs - sinceMs;
      if (ms > rate.graceMs && (bytes() * 1_000) / ms < rate.bytesPerSecond) cut();
    }
    this.#watch = undefined;
    if (this.#arriving.size > 0) this.#look();
  }
}

interface Arriving {
  readonly bytes: () => number;
  readonly rate: LeastRate;
  readonly cut: () => void;
  /** When it began, later by the time in which the process stood still. */
  sinceMs: number;
}

// A container of 384 MB runs the gateway in some 120 MB; a body of JSON takes several times its bytes once it is parsed.
export const defaultLimits: BodyLimits = {
  totalBytes: 48 * 1024 * 1024,
  body: { bytesPerSecond: 4_096, graceMs: 5_000 },
  // The parts of an upload wait for their turns while the process is short of time, and its client with them.
  upload: { bytesPerSecond: 32_768, graceMs: 20_000 },
};
const checkEveryMs = 500;
