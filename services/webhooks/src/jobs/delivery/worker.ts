import type { Database, Scope } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import { claimDeliveries, type DeliveryInHand } from '../../actions/claim-deliveries.ts';
import { type EndedWork, recordAttempts } from '../../actions/record-attempts.ts';
import { judgeAttempt } from '../../domain/attempt.ts';
import type { AttemptResult } from '../../domain/delivery.ts';
import { breakerThreshold } from '../../domain/health.ts';
import { signatureHeader } from '../../domain/signature.ts';
import { dueEndpoints } from '../../store/deliveries.ts';
import { type Lane, type LaneLimits, Lanes, scopeKey } from './lanes.ts';
import type { Poster } from './post.ts';
import { Recorder } from './recorder.ts';

/** What the worker needs. */
export interface DeliveryWorkerOptions {
  readonly database: Database;
  readonly poster: Poster;
  /** The signing key behind a sealed secret. */
  readonly openKey: (scope: Scope, sealed: string) => Buffer;
  readonly clock: Clock;
  /** Told of what failed inside; what a receiver did wrong is recorded with the delivery instead. */
  readonly onError: (error: unknown, where: string) => void;
  /** Told of every attempt, for metrics. */
  readonly onAttempt?: (result: AttemptResult) => void;
  /** A point at which tests stop the process. */
  readonly failpoint?: (name: string) => Promise<void> | void;
  readonly limits?: Partial<LaneLimits>;
  readonly leaseMs?: number;
  readonly random?: () => number;
}

/**
 * Sends due deliveries: claims them in batches, a few for each endpoint, sends them side by side and records what became of them in batches.
 * What is claimed and not recorded when the process dies is sent again, under the same webhook-id, when its lease has lapsed.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #lanes: Lanes;
  readonly #recorder: Recorder;
  readonly #claiming = new Map<string, Promise<void>>();
  readonly #sending = new Set<Promise<void>>();
  #stopped = false;
  #pumpIsDue = false;

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    this.#lanes = new Lanes({ ...defaultLimits, ...options.limits });
    this.#recorder = new Recorder((scope, work) => this.#write(scope, work));
  }

  /** Says that these endpoints have something to be sent now. */
  wake(scope: Scope, webhookIds: readonly string[]): void {
    for (const webhookId of webhookIds) this.#lanes.wake(scope, webhookId);
    this.#pumpSoon();
  }

  /** Looks for endpoints with due deliveries: retries, what another process left, and what nobody woke this one for. */
  async sweep(): Promise<void> {
    const { database, clock } = this.#options;
    for (const { scope, webhookId } of await dueEndpoints(database, clock.now(), mostEndpointsInOneSweep)) {
      this.#lanes.wake(scope, webhookId);
    }
    this.#pumpSoon();
  }

  /** Resolves when nothing is due any more as far as this process knows, and everything is recorded. */
  async idle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#claiming.size + this.#sending.size > 0) {
        await Promise.race([...this.#claiming.values(), ...this.#sending]);
        continue;
      }
      await this.#recorder.idle();
      if (!this.#pumpIsDue && this.#claiming.size + this.#sending.size === 0) return;
    }
  }

  /** Claims nothing more, gives back what waits, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#claiming.values());
    for (const lane of this.#lanes.all()) this.#giveBack(lane.scope, lane.webhookId);
    await Promise.all(this.#sending);
    await this.#recorder.idle();
  }

  // Wakes of one turn of the event loop are claimed for together.
  #pumpSoon(): void {
    if (this.#pumpIsDue || this.#stopped) return;
    this.#pumpIsDue = true;
    setImmediate(() => {
      this.#pumpIsDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#stopped) return;
    for (const { scope, rooms } of this.#lanes.wanting()) {
      if (this.#claiming.size >= mostClaimsAtOnce) return;
      const key = scopeKey(scope);
      if (this.#claiming.has(key)) continue;
      this.#lanes.claiming(scope, rooms);
      this.#claiming.set(key, this.#claim(scope, rooms));
    }
  }

  async #claim(scope: Scope, rooms: { webhookId: string; room: number }[]): Promise<void> {
    const { database, clock, onError, leaseMs = defaultLeaseMs } = this.#options;
    let claims: DeliveryInHand[] = [];
    try {
      claims = await claimDeliveries(database, scope, rooms, clock.now(), leaseMs);
    } catch (error) {
      // The next sweep finds them again.
      onError(error, 'claiming deliveries');
    }
    this.#claiming.delete(scopeKey(scope));
    for (const lane of this.#lanes.claimed(scope, rooms, claims)) this.#sendNext(lane);
    this.#pumpSoon();
  }

  #sendNext(lane: Lane): void {
    for (let delivery = this.#lanes.next(lane); delivery !== undefined; delivery = this.#lanes.next(lane)) {
      const sending = this.#send(lane, delivery).finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
  }

  async #send(lane: Lane, delivery: DeliveryInHand): Promise<void> {
    const { clock, random = Math.random, onAttempt, onError, failpoint } = this.#options;
    const startedAt = clock.now();
    const started = performance.now();
    try {
      const outcome = await this.#post(lane.scope, delivery, startedAt);
      const durationMs = Math.round(performance.now() - started);
      const result = judgeAttempt(delivery, outcome, { startedAt, durationMs, random: random() });
      await failpoint?.('webhooks.deliver.after_send');
      onAttempt?.(result);
      this.#recorder.record(lane.scope, result);
    } catch (error) {
      onError(error, 'sending a delivery');
      this.#recorder.release(lane.scope, delivery);
    }
    this.#lanes.ended(lane);
    this.#sendNext(lane);
    if (lane.dirty) this.#pumpSoon();
  }

  #post(scope: Scope, delivery: DeliveryInHand, at: Date): ReturnType<Poster['post']> {
    const keys = delivery.sealedSecrets.map((sealed) => this.#options.openKey(scope, sealed));
    if (keys.length === 0) throw new Error('an endpoint without a secret');
    const { eventId: id, url, body, traceparent } = delivery;
    const timestampSeconds = Math.floor(at.getTime() / 1000);
    return this.#options.poster.post({
      url,
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Eligo-Webhooks/1',
        'webhook-id': id,
        'webhook-timestamp': String(timestampSeconds),
        'webhook-signature': signatureHeader(keys, { id, timestampSeconds, body }),
        ...(traceparent === '' ? {} : { traceparent }),
      },
    });
  }

  async #write(scope: Scope, work: EndedWork): Promise<void> {
    const { database, clock, onError } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const failing = await recordAttempts(database, scope, work, clock.now());
        for (const [webhookId, health] of failing) {
          if (health.failuresInRow >= breakerThreshold) this.#giveBack(scope, webhookId);
        }
        return;
      } catch (error) {
        onError(error, 'recording attempts');
        // The leases lapse by themselves, and what was sent is sent again: at least once.
        if (attempt >= writeAttempts) return;
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
      }
    }
  }

  #giveBack(scope: Scope, webhookId: string): void {
    for (const delivery of this.#lanes.dropWaiting(scope, webhookId)) this.#recorder.release(scope, delivery);
  }
}

const defaultLimits: LaneLimits = { perEndpointUnderWay: 16, perEndpoint: 32, total: 1_024 };
// At worst a delivery waits behind one full turn of its endpoint (15 s) and then takes as long itself; the rest is margin.
const defaultLeaseMs = 60_000;
const mostClaimsAtOnce = 4;
const mostEndpointsInOneSweep = 5_000;
const writeAttempts = 5;
