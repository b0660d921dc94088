import type { KeyObject } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { type CallerContext, CallerContextSchema } from '@eligo/proto/caller/v1/caller';
import type { Clock } from '@eligo/values';
import { BoundedCache } from './bounded-cache.ts';
import { readPrivateKey, readPublicKey } from './keys.ts';
import { isSignedBy, openToken, signToken } from './token.ts';
import { TokenClock } from './token-clock.ts';

/** A token is used for at most the first half of its life, so one minute is left for clocks that differ and calls in flight. */
const tokenLifeMs = 120_000;
/** A token that claims to live longer than any that we sign was not made by this code. */
const longestLifeMs = 10 * tokenLifeMs;
const credentialsKept = 256;
const callersKept = 10_000;

/** On whose behalf calls are made. */
export interface CallerInit {
  readonly accountId: string;
  readonly testMode: boolean;
  readonly scopes?: readonly string[] | undefined;
  readonly features?: readonly string[] | undefined;
  readonly siblingAccountIds?: readonly string[] | undefined;
  /** The API key behind the request, for logs. */
  readonly keyId?: string | undefined;
  /** How the account substantiates what HSA and FSA cards pay; null if it does not. Where that is null, or left out as unknown, no such card is charged in live mode. */
  readonly substantiation?: string | null | undefined;
  /** What the account takes for the review of a letter of medical necessity; nothing if left out. */
  readonly letterFeeCents?: number | undefined;
  /** The requests a second that the API key may make; as many as it likes if left out. */
  readonly requestsPerSecond?: number | undefined;
}

/** What a component proves about itself and on whose behalf it works, and how it checks the same of others. */
export interface Identity {
  readonly name: string;
  /** The credential that this component presents to `callee`. */
  credentialFor(callee: string): string;
  /** A context signed by this component, for a request that it received (gateway) or for work of its own. Cached; frozen. */
  callerFor(init: CallerInit): CallerContext;
  /** The signed form of a context that this component issued or received; undefined for any other object. */
  tokenOf(caller: CallerContext): string | undefined;
  /** The component that a presented credential proves. Throws Unauthenticated. */
  verifyCredential(token: string | undefined): string;
  /** The context that `from` presented. Throws Unauthenticated or PermissionDenied. */
  verifyCaller(token: string, from: string): CallerContext;
}

/** Opens a component's identity from its private key (base64 PKCS 8) and everybody's public keys (base64 SPKI by name). */
export function openIdentity(options: {
  name: string;
  privateKey: string;
  publicKeys: Readonly<Record<string, string>>;
  clock?: Clock;
  /** The time that has elapsed, which no setting of the clock changes; by default that of the process, or a given clock's own. */
  elapsedMs?: () => number;
}): Identity {
  const { name, clock: given, elapsedMs = given && (() => given.now().getTime()) } = options;
  const clock = new TokenClock(tokenLifeMs, given, elapsedMs);
  const privateKey = readPrivateKey(options.privateKey);
  const publicKeys = new Map(Object.entries(options.publicKeys).map(([peer, key]) => [peer, readPublicKey(key)]));
  const ownCredentials = new BoundedCache<Signed<string>>(credentialsKept);
  const ownCallers = new BoundedCache<Signed<CallerContext>>(callersKept);
  const seenCredentials = new BoundedCache<string>(credentialsKept);
  const seenCallers = new BoundedCache<CallerContext>(callersKept);
  const tokens = new WeakMap<CallerContext, string>();

  function keptOrSigned<Value>(cache: BoundedCache<Signed<Value>>, key: string, sign: (expiresAtMs: number) => Value) {
    const now = clock.read();
    const elapsed = clock.elapsedMs();
    const kept = cache.get(key, elapsed);
    if (kept?.jumps === clock.jumps) return kept.value;
    const value = sign(now + tokenLifeMs);
    cache.set(key, { value, jumps: clock.jumps }, elapsed + tokenLifeMs / 2);
    return value;
  }

  return {
    name,
    credentialFor: (callee) =>
      keptOrSigned(ownCredentials, callee, (exp) =>
        signToken('credential', credentialBytes({ iss: name, aud: callee, exp }), privateKey),
      ),
    callerFor: (init) =>
      keptOrSigned(ownCallers, callerKey(init), (expiresAtMs) => {
        const caller = frozenCaller(init, name, expiresAtMs);
        tokens.set(caller, signToken('caller', toBinary(CallerContextSchema, caller), privateKey));
        return caller;
      }),
    tokenOf: (caller) => tokens.get(caller),
    verifyCredential(token) {
      if (token === undefined) throw unauthenticated('The call has no credential');
      const elapsed = clock.elapsedMs();
      const kept = seenCredentials.get(token, elapsed);
      if (kept !== undefined) return kept;
      const { iss, remainingMs } = checkCredential(token, name, publicKeys, clock);
      seenCredentials.set(token, iss, elapsed + remainingMs);
      return iss;
    },
    verifyCaller(token, from) {
      const elapsed = clock.elapsedMs();
      let caller = seenCallers.get(token, elapsed);
      if (caller === undefined) {
        const checked = checkCaller(token, publicKeys, clock);
        caller = checked.caller;
        tokens.set(caller, token);
        seenCallers.set(token, caller, elapsed + checked.remainingMs);
      }
      // A component speaks for itself; only the gateway's word is carried on by others.
      if (caller.issuer !== 'gateway' && caller.issuer !== from) {
        throw new ConnectError('The caller context was issued by another component', Code.PermissionDenied);
      }
      return caller;
    },
  };
}

/** The context of calls that work outside any account: empty, so that it opens no row. */
export const noCaller: CallerContext = frozenCaller({ accountId: '', testMode: true }, '', 0);

/** What was signed, and after how many jumps of the clock. */
interface Signed<Value> {
  readonly value: Value;
  readonly jumps: number;
}

interface Credential {
  readonly iss: string;
  readonly aud: string;
  readonly exp: number;
}

function checkCredential(
  token: string,
  self: string,
  keys: ReadonlyMap<string, KeyObject>,
  clock: TokenClock,
): { iss: string; remainingMs: number } {
  const opened = openToken(token);
  const credential = opened && readCredential(opened.payload);
  if (opened === undefined || credential === undefined) throw unauthenticated('The credential cannot be decoded');
  const key = keys.get(credential.iss);
  if (key === undefined || !isSignedBy('credential', opened, key)) {
    throw unauthenticated('The credential is not signed by a known component');
  }
  const remainingMs = clock.remainingMs(credential.exp, longestLifeMs);
  if (remainingMs <= 0) throw unauthenticated('The credential has expired');
  if (credential.aud !== self) {
    throw new ConnectError('The credential was issued for another component', Code.PermissionDenied);
  }
  return { iss: credential.iss, remainingMs };
}

function checkCaller(
  token: string,
  keys: ReadonlyMap<string, KeyObject>,
  clock: TokenClock,
): { caller: CallerContext; remainingMs: number } {
  const opened = openToken(token);
  const caller = opened && readCaller(opened.payload);
  if (opened === undefined || caller === undefined) throw unauthenticated('The caller context cannot be decoded');
  const key = keys.get(caller.issuer);
  if (key === undefined || !isSignedBy('caller', opened, key)) {
    throw unauthenticated('The caller context is not signed by its issuer');
  }
  const remainingMs = clock.remainingMs(Number(caller.expiresAtMs), longestLifeMs);
  if (remainingMs <= 0) throw unauthenticated('The caller context has expired');
  return { caller: freeze(caller), remainingMs };
}

function credentialBytes(credential: Credential): Buffer {
  return Buffer.from(JSON.stringify(credential));
}

function readCredential(payload: Buffer): Credential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { iss, aud, exp } = value as Partial<Record<keyof Credential, unknown>>;
  if (typeof iss !== 'string' || typeof aud !== 'string' || typeof exp !== 'number') return undefined;
  return { iss, aud, exp };
}

function readCaller(payload: Buffer): CallerContext | undefined {
  try {
    return fromBinary(CallerContextSchema, payload);
  } catch {
    return undefined;
  }
}

function frozenCaller(init: CallerInit, issuer: string, expiresAtMs: number): CallerContext {
  return freeze(
    create(CallerContextSchema, {
      accountId: init.accountId,
      testMode: init.testMode,
      scopes: [...(init.scopes ?? [])],
      features: [...(init.features ?? [])],
      siblingAccountIds: [...(init.siblingAccountIds ?? [])],
      issuer,
      expiresAtMs: BigInt(expiresAtMs),
      keyId: init.keyId ?? '',
      substantiation: init.substantiation ?? '',
      knowsSubstantiation: init.substantiation !== undefined,
      letterFeeCents: BigInt(init.letterFeeCents ?? 0),
      requestsPerSecond: init.requestsPerSecond ?? 0,
    }),
  );
}

// One verified context serves many calls, so no handler may change it.
function freeze(caller: CallerContext): CallerContext {
  Object.freeze(caller.scopes);
  Object.freeze(caller.features);
  Object.freeze(caller.siblingAccountIds);
  return Object.freeze(caller);
}

function callerKey(init: CallerInit): string {
  return JSON.stringify([
    init.accountId,
    init.testMode,
    init.keyId,
    init.scopes,
    init.features,
    init.siblingAccountIds,
    init.substantiation ?? init.substantiation === null,
    init.letterFeeCents,
    init.requestsPerSecond,
  ]);
}

function unauthenticated(message: string): ConnectError {
  return new ConnectError(message, Code.Unauthenticated);
}
