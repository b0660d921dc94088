import { createHash, randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '@eligo/values';
import { generateComponentKeys, readPrivateKey, readPublicKey } from './keys.ts';
import { isSignedBy, signatureOf } from './token.ts';

/** Time to start `curl` by hand, and for clocks that differ. */
const proofLifeMs = 60_000;
/** The operator's clock may be ahead of the component's by as much. */
const longestProofMs = 2 * proofLifeMs;

/** The headers by which an operator names the account and the mode to work in (test unless it says `false`), and proves that the call is theirs. */
export const headerNames = {
  account: 'eligo-account',
  testMode: 'eligo-test-mode',
  proof: 'eligo-call-proof',
  /** What the release before asks for: a proof without content, which may serve more than once. */
  proofBefore: 'eligo-proof',
} as const;

/** One call of an operator: what a proof is for, together with its content. */
export interface OperatorCall {
  /** The component that is called, and the method: `checkout.DecideLetter`. */
  readonly method: string;
  readonly scope: { readonly accountId: string; readonly testMode: boolean } | undefined;
}

/** A call with the body that is sent, byte for byte. */
export interface OperatorRequest extends OperatorCall {
  readonly body: string | Uint8Array;
}

/** A new key for one login: the private half (base64 PKCS 8) stays with the operator, the public half (base64 SPKI) goes into the login. */
export function generateProofKey(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKeys, publicKeys } = generateComponentKeys(['proof']);
  return { privateKey: privateKeys.proof ?? '', publicKey: publicKeys.proof ?? '' };
}

/** The headers of one call: the login's token, and for a minute a proof that its holder makes this call. */
export function operatorHeaders(
  { body, ...call }: OperatorRequest,
  login: { readonly token: string; readonly proofKey: string },
  clock: Clock = systemClock,
): Record<string, string> {
  const { scope } = call;
  const key = readPrivateKey(login.proofKey);
  const expiresAtMs = clock.now().getTime() + proofLifeMs;
  const id = randomBytes(16).toString('base64url');
  const digest = createHash('sha256').update(body).digest();
  const sign = (payload: Buffer) => signatureOf('proof', payload, key).toString('base64url');
  return {
    authorization: `Bearer ${login.token}`,
    // The component knows the rest of what is signed.
    [headerNames.proof]: `${expiresAtMs}.${id}.${sign(payloadOf(call, { expiresAtMs, id, digest }))}`,
    [headerNames.proofBefore]: `${expiresAtMs}.${sign(payloadBefore(call, expiresAtMs))}`,
    ...(scope && { [headerNames.account]: scope.accountId, [headerNames.testMode]: String(scope.testMode) }),
  };
}

/** What a proof says of itself, or what is wrong with it. */
export type CheckedProof = { readonly id: string } | { readonly problem: 'expired' | 'invalid' };

/** Checks a proof for a call whose content has this digest. Whether it was used before, the audit log knows by its id. */
export function checkProof(
  proof: string,
  call: OperatorCall,
  { digest, publicKey, clock }: { digest: Buffer; publicKey: string; clock: Clock },
): CheckedProof {
  const [, expires, id = '', text = ''] = /^(\d{13})\.([\w-]{22})\.([\w-]{86})$/.exec(proof) ?? [];
  const expiresAtMs = Number(expires);
  const signed = { payload: payloadOf(call, { expiresAtMs, id, digest }), signature: Buffer.from(text, 'base64url') };
  if (!isSignedBy('proof', signed, readPublicKey(publicKey))) return { problem: 'invalid' };
  const remainingMs = expiresAtMs - clock.now().getTime();
  return remainingMs > 0 && remainingMs <= longestProofMs ? { id } : { problem: 'expired' };
}

function payloadOf(
  { method, scope }: OperatorCall,
  { expiresAtMs, id, digest }: { expiresAtMs: number; id: string; digest: Buffer },
): Buffer {
  const content = digest.toString('base64url');
  return Buffer.from(
    JSON.stringify([method, scope?.accountId ?? null, scope?.testMode ?? null, expiresAtMs, id, content]),
  );
}

function payloadBefore({ method, scope }: OperatorCall, expiresAtMs: number): Buffer {
  return Buffer.from(JSON.stringify([method, scope?.accountId ?? null, scope?.testMode ?? null, expiresAtMs]));
}
