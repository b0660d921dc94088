import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { asOwnWork, type Scope, withTx } from '@eligo/postgres';
import { currentRequest } from '@eligo/rpc';
import { newId } from '@eligo/values';
import { type Claim, claimDeliveries } from '../../actions/claim-deliveries.ts';
import { recordAttempts } from '../../actions/record-attempts.ts';
import { renewLanes } from '../../actions/renew-lanes.ts';
import type { Sender } from '../../context.ts';
import { judgeAttempt } from '../../domain/attempt.ts';
import { type AttemptResult, type DeliveryInHand, isSuccess } from '../../domain/delivery.ts';
import { breakerThreshold } from '../../domain/health.ts';
import { signatureHeader } from '../../domain/signature.ts';
import { findEvent } from '../../store/events.ts';
import { type LaneRequest, releaseLanes } from '../../store/lanes.ts';
import { ClaimRetries } from './claim-retries.ts';
import { type Lane, type LaneLimits, Lanes, laneKey, oldestHanded, scopeKey } from './lanes.ts';
import type { Poster } from './post.ts';
import { Recorder } from './recorder.ts';
import { WaitingWalk } from './waiting-walk.ts';
import type { DeliveryWorkerOptions } from './worker-options.ts';

interface HeldLane {
  readonly scope: Scope;
  readonly webhookId: string;
}

/**
 * Sends deliveries: those that it is handed as they are planned, and those that wait, for which it takes the lanes of their endpoints and claims in
 * batches, a few for each. Sends them side by side and records what became of them in batches. What is in hand when the process dies is sent
 * again, under the same webhook-id, when the lanes' leases have lapsed.
 */
export class DeliveryWorker implements Sender {
  readonly owner = randomUUID();
  readonly leaseMs: number;
  readonly #options: DeliveryWorkerOptions;
  readonly #lanes: Lanes;
  readonly #recorder: Recorder;
  readonly #walk = new WaitingWalk(this.owner);
  readonly #claiming = new Map<string, Promise<void>>();
  readonly #sending = new Set<Promise<void>>();
  readonly #claimRetries = new ClaimRetries();
  // Lanes that were taken and not given up since.
  readonly #holding = new Map<string, HeldLane>();
  // A wake-up carries no request context: each attempt continues its own event's trace, and none waits behind the calls of its account.
  readonly #onItsOwn = asOwnWork(() => AsyncLocalStorage.snapshot());
  #stopped = false;
  #pumpIsDue = false;
  #renewal: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    this.leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#lanes = new Lanes({ ...defaultLimits, ...options.limits }, (scope) => options.share.isSpent(scope));
    this.#recorder = new Recorder((scope, results) => this.#write(scope, results));
  }

  /** Says that these endpoints have something to be sent now. */
  wake(scope: Scope, webhookIds: readonly string[]): void {
    for (const webhookId of webhookIds) this.#lanes.wake(scope, webhookId);
    this.#pumpSoon();
  }

  rooms(scope: Scope, endpoints: readonly { readonly webhookId: string }[], most: number): Map<string, number> {
    return this.#stopped ? new Map() : this.#lanes.rooms(scope, endpoints, most);
  }

  handOver(scope: Scope, deliveries: readonly DeliveryInHand[]): void {
    if (deliveries.length === 0) return;
    this.#lanes.handedOver(scope, deliveries);
    this.#hold(scope, deliveries);
    this.#onItsOwn(() => this.#sendNext());
  }

  /** The deliveries of such a lane are found when it is released. */
  watchLanes(scope: Scope, webhookIds: readonly string[]): void {
    this.#hold(
      scope,
      webhookIds.map((webhookId) => ({ webhookId })),
    );
  }

  /**
   * Looks for endpoints with waiting deliveries that are due: retries, what another process left, and deliveries without a wake-up. Says in how
   * many milliseconds the next are due, as far as is known.
   */
  async sweep(): Promise<{ dueInMs: number | undefined }> {
    const { database, clock } = this.#options;
    await this.#renew();
    await this.#releaseIdle();
    const { endpoints, dueInMs } = await this.#walk.sweep(database, clock.now());
    for (const { scope, webhookId } of endpoints) this.#lanes.wake(scope, webhookId);
    this.#pumpSoon();
    return { dueInMs };
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

  /** Claims no more deliveries, leaves waiting ones to other processes, and waits for those in flight. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#renewal);
    clearTimeout(this.#look);
    await Promise.all(this.#claiming.values());
    for (const lane of this.#lanes.all()) this.#lanes.dropWaiting(lane.scope, lane.webhookId);
    await Promise.all(this.#sending);
    await this.#recorder.idle();
    await this.#onItsOwn(() => this.#release([...this.#holding.values()]));
  }

  // A slow receiver's lane is in use for longer than a lease, and its endpoint may be changed or deleted meanwhile. Others may have planned for a lane
  // that is never at rest: it is claimed for as well.
  async #renew(): Promise<void> {
    const { database, clock } = this.#options;
    const inUse = this.#lanes.all().filter(({ inHand }) => inHand.size > 0);
    await this.#forEachScope(inUse, async (scope, own) => {
      // Whatever is planned from now on has a greater id than this.
      const next = newId('delivery');
      const lanes = own.map((lane) => ({
        webhookId: lane.webhookId,
        oldest: oldestHanded(lane, next),
        urls: [...new Set(lane.waiting.map(({ url }) => url))],
      }));
      const claimant = { owner: this.owner, at: clock.now(), leaseMs: this.leaseMs };
      const { waiting, changes } = await renewLanes(database, scope, lanes, claimant);
      for (const change of changes) this.#lanes.redirect(scope, change);
      return waiting;
    });
  }

  // Runs for as long as something is in hand.
  #keepRenewing(): void {
    if (this.#renewal !== undefined || this.#stopped) return;
    const renew = async () => {
      try {
        await this.#renew();
        await this.#releaseIdle();
      } catch (error) {
        this.#options.onError(error, 'renewing leases');
      }
      this.#renewal = undefined;
      if (this.#holding.size === 0) return;
      for (const { scope, webhookId } of this.#holding.values()) this.wake(scope, [webhookId]);
      this.#keepRenewing();
    };
    this.#renewal = setTimeout(() => void this.#onItsOwn(renew), this.leaseMs / 5).unref();
  }

  #hold(scope: Scope, of: readonly Pick<DeliveryInHand, 'webhookId'>[]): void {
    for (const { webhookId } of of) {
      const key = laneKey(scope, webhookId);
      this.#claimRetries.forget(key);
      this.#holding.set(key, { scope, webhookId });
    }
    if (of.length > 0) this.#keepRenewing();
  }

  // Lanes that were not released with their last result: their endpoint is down, or their results could not be recorded.
  async #releaseIdle(): Promise<void> {
    const idle = [...this.#holding.values()].filter(({ scope, webhookId }) =>
      this.#lanes.releaseIdle(scope, webhookId),
    );
    try {
      await this.#release(idle);
    } finally {
      for (const { scope, webhookId } of idle) this.#lanes.released(scope, webhookId);
      this.#pumpSoon();
    }
  }

  async #release(lanes: readonly HeldLane[]): Promise<void> {
    const { database, clock } = this.#options;
    await this.#forEachScope(lanes, async (scope, own) => {
      const ids = own.map(({ webhookId }) => webhookId);
      const claimant = { owner: this.owner, at: clock.now() };
      const lost = await withTx(database, scope, (tx) => releaseLanes(tx, scope, ids, claimant));
      for (const webhookId of ids) this.#holding.delete(laneKey(scope, webhookId));
      return lost;
    });
  }

  // Changes the lanes of each account in a transaction of its own, and wakes those that it answers: something waits for them.
  async #forEachScope<Lane extends HeldLane>(
    lanes: readonly Lane[],
    change: (scope: Scope, own: readonly Lane[]) => Promise<readonly string[]>,
  ): Promise<void> {
    for (const own of Map.groupBy(lanes, ({ scope }) => scopeKey(scope)).values()) {
      const [first] = own;
      if (first !== undefined) this.wake(first.scope, await change(first.scope, own));
    }
  }

  // Wakes of one turn of the event loop are claimed for together.
  #pumpSoon(): void {
    if (this.#pumpIsDue || this.#stopped) return;
    this.#pumpIsDue = true;
    this.#onItsOwn(() => {
      setImmediate(() => {
        this.#pumpIsDue = false;
        this.#pump();
      });
    });
  }

  #pump(): void {
    if (this.#stopped) return;
    for (const { scope, requests } of this.#lanes.wanting()) {
      if (this.#claiming.size >= mostClaimsAtOnce) return;
      const key = scopeKey(scope);
      if (this.#claiming.has(key)) continue;
      this.#lanes.claiming(scope, requests);
      this.#claiming.set(key, this.#claim(scope, requests));
    }
  }

  async #claim(scope: Scope, requests: LaneRequest[]): Promise<void> {
    const { database, clock, onError } = this.#options;
    const { owner, leaseMs } = this;
    let claim: Claim = { deliveries: [], passedOver: [], recovering: [] };
    try {
      claim = await claimDeliveries(database, scope, requests, { owner, at: clock.now(), leaseMs });
    } catch (error) {
      // The next sweep finds them again.
      onError(error, 'claiming deliveries');
    }
    this.#claiming.delete(scopeKey(scope));
    this.#lanes.claimed(scope, requests, claim.deliveries);
    this.#hold(scope, claim.deliveries);
    this.#sendNext();
    const passedOver = new Set(claim.passedOver);
    for (const { webhookId } of requests) {
      if (passedOver.has(webhookId)) this.#comeBack(scope, webhookId);
      else this.#claimRetries.forget(laneKey(scope, webhookId));
    }
    this.wake(scope, claim.recovering);
  }

  // Whoever has the lane, or its lock, may have looked just before there was something new; it gives the lane up as soon as it has nothing in hand. After some
  // tries the sweep is quick enough.
  #comeBack(scope: Scope, webhookId: string): void {
    if (this.#stopped || !this.#claimRetries.mayRetry(laneKey(scope, webhookId))) return;
    setTimeout(() => this.wake(scope, [webhookId]), pauseWhenTurnedAwayMs).unref();
  }

  #sendNext(): void {
    if (this.#stopped) return;
    for (let turn = this.#lanes.next(); turn !== undefined; turn = this.#lanes.next()) {
      const { lane, delivery } = turn;
      const sending = this.#options.share
        .run(lane.scope, () => this.#send(lane, delivery))
        .finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
    // Nothing else may tell when an account that is held may go on.
    if (this.#lanes.areHeld) this.#look ??= setTimeout(() => this.#lookAgain(), lookMs).unref();
  }

  #lookAgain(): void {
    this.#look = undefined;
    this.#sendNext();
  }

  async #send(lane: Lane, delivery: DeliveryInHand): Promise<void> {
    const { clock, random = Math.random, traced, onAttempt, onError, failpoint } = this.#options;
    const startedAt = clock.now();
    const started = performance.now();
    try {
      const post = () => this.#post(lane.scope, delivery, startedAt);
      const { eventType, traceparent } = delivery;
      const outcome = await (traced === undefined ? post() : traced(`deliver ${eventType}`, traceparent, post));
      const durationMs = Math.round(performance.now() - started);
      const result = judgeAttempt(delivery, outcome, { startedAt, durationMs, random: random() });
      await failpoint?.('webhooks.deliver.after_send');
      onAttempt?.(result);
      if (result.gone) this.#lanes.close(lane);
      this.#recorder.record(lane.scope, result);
    } catch (error) {
      onError(error, 'sending a delivery');
      this.#lanes.done(lane.scope, [delivery]);
      this.#pumpSoon();
    }
    this.#lanes.ended(lane);
    this.#sendNext();
    if (lane.dirty) this.#pumpSoon();
  }

  async #post(scope: Scope, delivery: DeliveryInHand, at: Date): ReturnType<Poster['post']> {
    const keys = delivery.sealedSecrets.map((sealed) => this.#options.openKey(scope, sealed));
    if (keys.length === 0) throw new Error('An endpoint has no signing secret');
    const { eventId: id, url } = delivery;
    const body = delivery.body ?? (await findEvent(this.#options.database, scope, id))?.body;
    if (body === undefined) throw new Error('The event of a delivery has been deleted');
    const traceparent = currentRequest()?.traceparent ?? delivery.traceparent;
    const timestampSeconds = Math.floor(at.getTime() / 1000);
    return this.#options.poster.post({
      asker: { accountId: scope.accountId, webhookId: delivery.webhookId },
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

  async #write(scope: Scope, results: readonly AttemptResult[]): Promise<void> {
    const { database, clock, onError } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const work = { results, freedLanes: this.#lanes.releasedBy(scope, results) };
        const { failing, waiting, disabled } = await recordAttempts(database, scope, work, clock.now(), this.owner);
        for (const webhookId of work.freedLanes) this.#holding.delete(laneKey(scope, webhookId));
        this.wake(scope, waiting);
        for (const webhookId of disabled) this.#lanes.dropWaiting(scope, webhookId);
        this.#noteFailures(scope, results, failing);
        break;
      } catch (error) {
        onError(error, 'recording attempts');
        // They are still pending, and what was sent is sent again: at least once.
        if (attempt >= writeAttempts) break;
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
      }
    }
    for (const { gone, webhookId } of results) if (gone) this.#lanes.reopen(scope, webhookId);
    this.#lanes.done(scope, results);
    this.#pumpSoon();
  }

  #noteFailures(
    scope: Scope,
    results: readonly AttemptResult[],
    failing: ReadonlyMap<string, { failuresInRow: number; openUntil: Date | null }>,
  ): void {
    if (results.every(isSuccess)) return;
    const { clock, onDue } = this.#options;
    const times = results.flatMap(({ webhookId, nextAttemptAt }) =>
      nextAttemptAt === null
        ? []
        : [Math.max(nextAttemptAt.getTime(), failing.get(webhookId)?.openUntil?.getTime() ?? 0)],
    );
    if (times.length > 0) onDue?.(Math.max(0, Math.min(...times) - clock.now().getTime()));
    for (const [webhookId, { failuresInRow, openUntil }] of failing) {
      if (failuresInRow < breakerThreshold) continue;
      this.#lanes.dropWaiting(scope, webhookId);
      if (openUntil === null) this.#lanes.wake(scope, webhookId);
      else onDue?.(Math.max(0, openUntil.getTime() - clock.now().getTime()));
    }
  }
}

// The worker holds many times what is in flight, so that sending continues while results are written.
const defaultLimits: LaneLimits = {
  perEndpointUnderWay: 16,
  underWay: 512,
  perEndpoint: 256,
  total: 8_192,
  atOnce: 1_000,
};
// A live process renews it each second, so it only limits how long the endpoints of a dead process wait for another.
const defaultLeaseMs = 5_000;
const mostClaimsAtOnce = 4;
const lookMs = 20;
const writeAttempts = 5;
const pauseWhenTurnedAwayMs = 50;
