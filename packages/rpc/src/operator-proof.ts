import { type Clock, systemClock } from '@eligo/values';
import { generateComponentKeys, readPrivateKey, readPublicKey } from './keys.ts';
import { isSignedBy, signatureOf } from './token.ts';

/** Time to start `curl` by hand, and for clocks that differ. */
const proofLifeMs = 60_000;
/** The operator's clock may be ahead of the component's by as much. */
const longestProofMs = 2 * proofLifeMs;

/** The headers by which an operator names the account and the mode to work in (test unless it says `false`), and proves that the call is theirs. */
export const headerNames = { account: 'eligo-account', testMode: 'eligo-test-mode', proof: 'eligo-proof' } as const;

/** One call of an operator: what a proof is for, and nothing else. */
export interface OperatorCall {
  /** The component that is called, and the method: `checkout.DecideLetter`. */
  readonly method: string;
  readonly scope: { readonly accountId: string; readonly testMode: boolean } | undefined;
}

/** A new key for one login: the private half (base64 PKCS 8) stays with the operator, the public half (base64 SPKI) goes into the login. */
export function generateProofKey(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKeys, publicKeys } = generateComponentKeys(['proof']);
  return { privateKey: privateKeys.proof ?? '', publicKey: publicKeys.proof ?? '' };
}

/** The headers of one call: the login's token, and for a minute a proof that its holder makes this call. */
export function operatorHeaders(
  call: OperatorCall,
  login: { readonly token: string; readonly proofKey: string },
  clock: Clock = systemClock,
): Record<string, string> {
  const { scope } = call;
  return {
    authorization: `Bearer ${login.token}`,
    [headerNames.proof]: proofOf(call, login.proofKey, clock.now().getTime() + proofLifeMs),
    ...(scope && { [headerNames.account]: scope.accountId, [headerNames.testMode]: String(scope.testMode) }),
  };
}

// `<expires at>.<signature>`: the component knows the rest of what is signed.
function proofOf(call: OperatorCall, proofKey: string, expiresAtMs: number): string {
  const signature = signatureOf('proof', payloadOf(call, expiresAtMs), readPrivateKey(proofKey));
  return `${expiresAtMs}.${signature.toString('base64url')}`;
}

/** What is wrong with a proof for a call, if anything. */
export function problemOfProof(
  proof: string,
  call: OperatorCall,
  publicProofKey: string,
  clock: Clock = systemClock,
): 'expired' | 'invalid' | undefined {
  const [, expires, text = ''] = /^(\d{13})\.([\w-]{86})$/.exec(proof) ?? [];
  const expiresAtMs = Number(expires);
  const signed = { payload: payloadOf(call, expiresAtMs), signature: Buffer.from(text, 'base64url') };
  if (!isSignedBy('proof', signed, readPublicKey(publicProofKey))) return 'invalid';
  const remainingMs = expiresAtMs - clock.now().getTime();
  return remainingMs > 0 && remainingMs <= longestProofMs ? undefined : 'expired';
}

function payloadOf({ method, scope }: OperatorCall, expiresAtMs: number): Buffer {
  return Buffer.from(JSON.stringify([method, scope?.accountId ?? null, scope?.testMode ?? null, expiresAtMs]));
}
