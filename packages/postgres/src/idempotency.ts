import { createHash } from 'node:crypto';
import { Failure } from '@eligo/failures';
import type { Db } from './db.ts';
import { leaseFromNow, leaseIsLive, leaseIsOver } from './lease.ts';
import { migrationSource } from './migration-source.ts';
import type { Scope } from './scope.ts';
import { scoped, unscoped } from './statement.ts';
import type { Tx } from './tx.ts';

/** The table `idempotency_keys`, for each schema that keeps keys. */
export const idempotencyMigrations = migrationSource(
  'idempotency',
  new URL('../migrations/idempotency', import.meta.url),
);

/** A key where it was used. `endpoint` is method and path (`POST /v1/checkout/sessions/fcs_…/confirm`). */
export interface KeyUse {
  readonly endpoint: string;
  readonly key: string;
  /** SHA-256 of the request, as `requestHash` makes it. */
  readonly requestHash: Buffer;
  /**
   * What another request under the same key is: `refuse` on confirm, capture and session refund, `run_as_new` where clients are known to send
   * a key that is a hash of the resource (decisions 1.1). The latter keeps one answer for each body.
   */
  readonly otherRequest: 'refuse' | 'run_as_new';
}

/** The answer that is kept: its status and exactly its bytes. */
export interface StoredAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** What a claim found. Only `claimed` may go on. */
export type Claim =
  | {
      readonly outcome: 'claimed';
      readonly epoch: number;
      /** What an earlier holder of the key began. */
      readonly attemptId: string | undefined;
      /** The key is new, so it refers to the attempt of the claim. */
      readonly isNew: boolean;
    }
  | { readonly outcome: 'finished'; readonly answer: StoredAnswer; readonly attemptId: string | undefined }
  | { readonly outcome: 'in_use' }
  | { readonly outcome: 'other_request' };

/** A claim whose request may go on or has its answer. */
export type UsableClaim = Extract<Claim, { outcome: 'claimed' | 'finished' }>;

/**
 * Claims the key for `leaseMs`, by the database's time; the lease must exceed the longest call that is made under it. A new key is linked to
 * `attemptId` at once, which saves `linkAttempt` where the caller begins that attempt in the same transaction.
 */
export async function claimKey(
  tx: Tx,
  scope: Scope,
  use: KeyUse,
  leaseMs: number,
  attemptId: string | null = null,
): Promise<Claim> {
  const place = [endpointOf(use), use.key];
  const fresh = await tx.execute(insertKey, scope, freshKeyValues(use, leaseMs, attemptId));
  if (fresh === 1) return { outcome: 'claimed', epoch: 1, attemptId: undefined, isNew: true };
  const held = await tx.row(lockKey, scope, place);
  if (held === undefined) return { outcome: 'in_use' };
  const known = standingOf(held, use);
  if (known !== undefined) return known;
  await tx.execute(takeOverKey, scope, [...place, leaseMs]);
  return { outcome: 'claimed', epoch: held.epoch + 1, attemptId: held.attempt_id ?? undefined, isNew: false };
}

/** The same for a request that cannot go on otherwise: throws `idempotency_key_in_use` (503) and `idempotency_key_reused` (409). */
export async function claimOrThrow(
  tx: Tx,
  scope: Scope,
  use: KeyUse,
  leaseMs: number,
  attemptId: string | null = null,
): Promise<UsableClaim> {
  return usableOrThrow(await claimKey(tx, scope, use, leaseMs, attemptId));
}

/** The claim, if its request may go on or has its answer. */
export function usableOrThrow(claim: Claim): UsableClaim {
  if (claim.outcome === 'other_request') throw new Failure('idempotency_key_reused');
  if (claim.outcome === 'in_use') throw keyInUse();
  return claim;
}

/** The refusal while another request works under the key, or nobody knows what became of it: the same request again after a second. */
export function keyInUse(cause?: unknown): Failure {
  return new Failure('idempotency_key_in_use', { retryAfterSeconds: 1, ...(cause === undefined ? {} : { cause }) });
}

/**
 * Claims keys that nobody has used, each linked to the attempt that its request begins, with one statement. False when one of them was used
 * before: the caller rolls back and asks `claimKey` for each.
 */
export async function claimFreshKeys(
  tx: Tx,
  scope: Scope,
  claims: readonly { readonly use: KeyUse; readonly attemptId: string }[],
  leaseMs: number,
): Promise<boolean> {
  const claimed = await tx.execute(insertKeys, scope, [
    claims.map(({ use }) => endpointOf(use)),
    claims.map(({ use }) => use.key),
    claims.map(({ use }) => use.requestHash.toString('hex')),
    leaseMs,
    claims.map(({ attemptId }) => attemptId),
  ]);
  return claimed === claims.length;
}

/**
 * SQL that claims a free key in the same statement as what the request begins: a part of a `with`, in a scoped statement, that has a row only
 * if the key was free. It takes `freshKeyValues` from parameter `$first` on. A key that was not free is asked for by `claimKey`.
 */
export function freshKeyInsert(first: number): string {
  const [endpoint, key, hash, leaseMs, attemptId] = [0, 1, 2, 3, 4].map((index) => `$${first + index}`);
  return `insert into idempotency_keys (account_id, test_mode, endpoint, key, request_hash, lease_until, attempt_id)
    values ($1, $2, ${endpoint}, ${key}, ${hash}, ${leaseFromNow(`${leaseMs}::bigint`)}, ${attemptId})
    on conflict do nothing returning key`;
}

/** The values of `freshKeyInsert`; `attemptId` is what the request begins, if that is known. */
export function freshKeyValues(use: KeyUse, leaseMs: number, attemptId: string | null): unknown[] {
  return [endpointOf(use), use.key, use.requestHash, leaseMs, attemptId];
}

/**
 * The part `key` of a `with`, which locks the key under which this attempt (a parameter such as `$3`) was begun, if there is one. Keys are locked
 * before what they have begun: the part that changes that has the condition `afterKeyLock`.
 */
export function keyOfAttemptLock(attempt: string): string {
  return `key as materialized (
    select key from idempotency_keys
    where account_id = $1 and test_mode = $2 and attempt_id = ${attempt} and state = 'in_progress' for update)`;
}

/** The same for the keys of several attempts (a parameter of an array), locked in one order. */
export function keysOfAttemptsLock(attempts: string): string {
  return `key as materialized (
    select key from idempotency_keys
    where account_id = $1 and test_mode = $2 and attempt_id = any(${attempts}::text[]) and state = 'in_progress'
    order by endpoint, key for update)`;
}

/** A condition that holds always, and makes its part wait for the part of `keyOfAttemptLock` or `keysOfAttemptsLock`. */
export const afterKeyLock = '(select count(*) from key) >= 0';

/** SQL that stores the answer under that key if the part `from` has a row: a part of a `with`. */
export function keyOfAttemptFinish(attempt: string, status: string, body: string, from: string): string {
  return `update idempotency_keys k set ${finish}, status = ${status}, body = ${body} from ${from}
    where k.account_id = $1 and k.test_mode = $2 and k.attempt_id = ${attempt} and k.state = 'in_progress'`;
}

/** What a key stands for now, without claiming it: for a replay that must work while nothing new may begin. */
export async function findKey(db: Db, scope: Scope, use: KeyUse): Promise<Claim | undefined> {
  const held = await db.row(readKey, scope, [endpointOf(use), use.key]);
  return held && standingOf(held, use);
}

// In the order in which a key is judged: in use, another request, the stored answer (decisions 7). Undefined when no process works under the key.
function standingOf(held: KeyRow, { requestHash: hash }: KeyUse): Claim | undefined {
  const { status, body } = held;
  const finished = status !== null && body !== null;
  if (!finished && held.lease_is_live) return { outcome: 'in_use' };
  if (!held.request_hash.equals(hash)) return { outcome: 'other_request' };
  if (!finished) return undefined;
  return { outcome: 'finished', answer: { status, body }, attemptId: held.attempt_id ?? undefined };
}

/** Notes what the request under this key has begun. */
export async function linkAttempt(tx: Tx, scope: Scope, use: KeyUse, attemptId: string): Promise<void> {
  await tx.execute(linkKey, scope, [endpointOf(use), use.key, attemptId]);
}

/** Unlinks an abandoned attempt from the key that began it, so that the key's next use starts a new attempt. */
export async function unlinkAttempt(tx: Tx, scope: Scope, attemptId: string): Promise<void> {
  await tx.execute(unlinkKeys, scope, [attemptId]);
}

/** The same for an attempt that was sent and certainly charged nothing: its sender has finished, so the key is free at once. */
export async function releaseKeyOfAttempt(tx: Tx, scope: Scope, attemptId: string): Promise<void> {
  await tx.execute(releaseByAttempt, scope, [attemptId]);
}

/** Stores the answer. False when one is stored already, which stays. Not bound to the epoch: it records a fact. */
export async function finishKey(tx: Tx, scope: Scope, use: KeyUse, answer: StoredAnswer): Promise<boolean> {
  return (await tx.execute(finishByKey, scope, [endpointOf(use), use.key, answer.status, answer.body])) === 1;
}

/** The same for a caller that knows only the attempt, such as a sweeper. */
export async function finishKeyOfAttempt(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  answer: StoredAnswer,
): Promise<boolean> {
  return (await tx.execute(finishByAttempt, scope, [attemptId, answer.status, answer.body])) > 0;
}

/** Ends the lease early, so that a retry need not wait for it to lapse; only for the holder of `epoch`. */
export async function releaseKey(tx: Tx, scope: Scope, use: KeyUse, epoch: number): Promise<void> {
  await tx.execute(release, scope, [endpointOf(use), use.key, epoch]);
}

/** Deletes finished keys that are older than 30 days, at most `batch` of them; returns how many. */
export async function pruneKeys(db: Db, batch = 1_000): Promise<number> {
  return Number((await db.row(prune, null, [batch]))?.pruned ?? 0n);
}

/** SHA-256 of a request: method, path, query and body, the same for the same values in whatever order their keys came. */
export function requestHash(request: { method: string; path: string; query?: unknown; body?: unknown }): Buffer {
  const parts = [request.method, request.path, canonicalJson(request.query ?? {}), canonicalJson(request.body ?? null)];
  return createHash('sha256').update(parts.join('\n')).digest();
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function endpointOf({ endpoint, otherRequest, requestHash: hash }: KeyUse): string {
  return otherRequest === 'refuse' ? endpoint : `${endpoint} ${hash.toString('base64url')}`;
}

interface KeyRow {
  request_hash: Buffer;
  attempt_id: string | null;
  epoch: number;
  lease_is_live: boolean;
  status: number | null;
  body: Buffer | null;
}

const finish = "state = 'finished', finished_at = clock_timestamp()";
const here = 'account_id = $1 and test_mode = $2 and endpoint = $3 and key = $4';
const columns = `request_hash, attempt_id, epoch, ${leaseIsLive()} as lease_is_live, status, body`;

const insertKey = scoped('idempotency.insert', freshKeyInsert(3));
const insertKeys = scoped(
  'idempotency.insert_several',
  `insert into idempotency_keys (account_id, test_mode, endpoint, key, request_hash, lease_until, attempt_id)
   select $1, $2, k.endpoint, k.key, decode(k.hash, 'hex'), ${leaseFromNow('$6')}, k.attempt_id
   from unnest($3::text[], $4::text[], $5::text[], $7::text[]) as k (endpoint, key, hash, attempt_id)
   order by k.endpoint, k.key on conflict do nothing`,
);
const lockKey = scoped<KeyRow>('idempotency.lock', `select ${columns} from idempotency_keys where ${here} for update`);
const readKey = scoped<KeyRow>('idempotency.read', `select ${columns} from idempotency_keys where ${here}`);
const takeOverKey = scoped(
  'idempotency.take_over',
  `update idempotency_keys set epoch = epoch + 1, lease_until = ${leaseFromNow('$5')} where ${here}`,
);
const linkKey = scoped('idempotency.link', `update idempotency_keys set attempt_id = $5 where ${here}`);
const unlinkKeys = scoped(
  'idempotency.unlink',
  `update idempotency_keys set attempt_id = null, epoch = epoch + 1
   where account_id = $1 and test_mode = $2 and attempt_id = $3 and state = 'in_progress'`,
);
const releaseByAttempt = scoped(
  'idempotency.release_by_attempt',
  `update idempotency_keys set attempt_id = null, epoch = epoch + 1, lease_until = ${leaseIsOver}
   where account_id = $1 and test_mode = $2 and attempt_id = $3 and state = 'in_progress'`,
);
const finishByKey = scoped(
  'idempotency.finish',
  `update idempotency_keys set ${finish}, status = $5, body = $6 where ${here} and state = 'in_progress'`,
);
const finishByAttempt = scoped(
  'idempotency.finish_by_attempt',
  `update idempotency_keys set ${finish}, status = $4, body = $5
   where account_id = $1 and test_mode = $2 and attempt_id = $3 and state = 'in_progress'`,
);
const release = scoped(
  'idempotency.release',
  `update idempotency_keys set lease_until = ${leaseIsOver} where ${here} and epoch = $5 and state = 'in_progress'`,
);
const prune = unscoped<{ pruned: bigint }>('idempotency.prune', 'select prune_idempotency_keys($1) as pruned');
