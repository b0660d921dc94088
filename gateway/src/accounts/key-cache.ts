import { type Database, openSession, type Session } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import { isId } from '@eligo/values';
import { type FoundKey, findKey } from './find-key.ts';
import { keyHash } from './key-format.ts';

/** A key as requests use it: looked up once, its caller context signed once. */
export interface ActiveKey extends FoundKey {
  readonly caller: CallerContext;
  /** The scopes as a set; undefined: all. */
  readonly allowed: ReadonlySet<string> | undefined;
  /** The requests a second that it may make; undefined where it has no limit. */
  readonly perSecond: number | undefined;
  /** By the process's monotonic clock. */
  readonly freshUntilMs: number;
}

/** The requests a second that a key without a limit of its own may make; 0: as many as it likes. */
export interface RateLimits {
  readonly live: number;
  readonly test: number;
}

/** Revocation takes effect within 5 s even where no notification arrives (decisions 2), the look-up itself included. */
const freshMs = 3_500;
const keysKept = 10_000;
const reconnectMs = 1_000;
const channel = 'eligo_gateway_keys';
const statementsChannel = 'eligo_gateway_statements';

/** The live keys that were seen lately. Kept by their hash, so that no key stands in memory for longer than its request. */
export class KeyCache {
  readonly #database: Database;
  readonly #defaults: RateLimits;
  readonly #sign: (init: CallerInit) => CallerContext;
  readonly #onStatement: () => void;
  readonly #keys = new Map<string, ActiveKey>();
  readonly #asked = new Map<string, Promise<ActiveKey | undefined>>();
  #generation = 0;
  #session: Session | undefined;
  #stopped = false;
  #retry: NodeJS.Timeout | undefined;

  /** `onStatement` is called when what other services are told of an account may have changed. */
  constructor(
    database: Database,
    defaults: RateLimits,
    sign: (init: CallerInit) => CallerContext,
    onStatement: () => void = () => undefined,
  ) {
    this.#database = database;
    this.#defaults = defaults;
    this.#sign = sign;
    this.#onStatement = onStatement;
  }

  /** The key if it is known and fresh, at once. */
  get(hash: string): ActiveKey | undefined {
    const key = this.#keys.get(hash);
    return key !== undefined && key.freshUntilMs > performance.now() && key.expiresAtMs > Date.now() ? key : undefined;
  }

  /** Whether a key with this hash was live when it was last looked up. */
  isKnown(hash: string): boolean {
    return this.#keys.has(hash);
  }

  /** Looks a key up; requests that come meanwhile share one query. */
  find(apiKey: string, hash: string): Promise<ActiveKey | undefined> {
    const asked = this.#asked.get(hash);
    if (asked !== undefined) return asked;
    const asking = this.#load(apiKey, hash).finally(() => {
      // After a concurrent change, a later request has already looked the key up again.
      if (this.#asked.get(hash) === asking) this.#asked.delete(hash);
    });
    this.#asked.set(hash, asking);
    return asking;
  }

  /** Forgets a key or an account's keys whenever they change anywhere. Never rejects: without it freshness alone bounds the delay. */
  async listen(): Promise<void> {
    try {
      const session = await openSession(this.#database, 'eligo gateway keys', (of, id) => this.#notice(of, id));
      this.#session = session;
      // Whatever ends it, a refused LISTEN too, is followed by another.
      void session.closed.then(() => this.#listenAgain());
      await session.query(`listen ${channel}`);
      await session.query(`listen ${statementsChannel}`);
      // LISTEN misses changes from before it started.
      this.forget('');
      this.#onStatement();
    } catch (error) {
      this.#database.report(error, 'LISTEN for key changes failed');
      if (this.#session === undefined) this.#listenAgain();
      else await this.#closeSession();
    }
    if (this.#stopped) await this.stop();
  }

  /** Forgets the key, or all keys of the account, that a notice names; everything where it names neither. */
  forget(id: string): void {
    this.#generation += 1;
    this.#asked.clear();
    const isNamed = isId('api_key', id) || isId('account', id);
    for (const [hash, { keyId, accountId }] of this.#keys) {
      if (!isNamed || keyId === id || accountId === id) this.#keys.delete(hash);
    }
  }

  #notice(of: string, id: string): void {
    if (of === statementsChannel) this.#onStatement();
    else this.forget(id);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#closeSession();
  }

  async #closeSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  #listenAgain(): void {
    this.#session = undefined;
    if (this.#stopped) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.listen(), reconnectMs);
    this.#retry.unref();
  }

  async #load(apiKey: string, hash: string): Promise<ActiveKey | undefined> {
    const generation = this.#generation;
    const askedAtMs = performance.now();
    const found = await findKey(this.#database, keyHash(apiKey));
    if (found === undefined) {
      this.#keys.delete(hash);
      return undefined;
    }
    const perSecond = perSecondOf(found, this.#defaults);
    const key: ActiveKey = {
      ...found,
      perSecond,
      caller: this.#sign({ ...callerOf(found), requestsPerSecond: perSecond }),
      allowed: found.scopes === null ? undefined : new Set(found.scopes),
      freshUntilMs: askedAtMs + freshMs,
    };
    // What was read before a change is used for this request, which came before it, and not kept.
    if (generation === this.#generation) this.#keep(hash, key);
    return key;
  }

  #keep(hash: string, key: ActiveKey): void {
    this.#keys.delete(hash);
    this.#keys.set(hash, key);
    if (this.#keys.size <= keysKept) return;
    const oldest = this.#keys.keys().next();
    if (!oldest.done) this.#keys.delete(oldest.value);
  }
}

function perSecondOf({ rateLimit, testMode }: FoundKey, defaults: RateLimits): number | undefined {
  const perSecond = rateLimit ?? (testMode ? defaults.test : defaults.live);
  return perSecond === 0 ? undefined : perSecond;
}

function callerOf(key: FoundKey): CallerInit {
  const { accountId, testMode, features, siblingAccountIds, keyId } = key;
  return {
    accountId,
    testMode,
    features,
    siblingAccountIds,
    keyId,
    scopes: key.scopes ?? [],
    substantiation: key.substantiation,
    letterFeeCents: key.letterFeeCents,
  };
}
