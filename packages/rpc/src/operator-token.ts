import type { KeyObject } from 'node:crypto';
import { type Clock, systemClock } from '@eligo/values';
import { readPrivateKey, readPublicKey } from './keys.ts';
import { isSignedBy, openToken, signToken } from './token.ts';

/** A login that claims to live longer was not made by this code. */
export const longestLoginMs = 12 * 3_600_000;

/** Who acts on an admin port or on the command line. */
export interface Operator {
  /** The identifier of a registered operator; undefined for a user of the machine that has the operators' key. */
  readonly id?: string | undefined;
  readonly name: string;
}

/** A login of an operator: who, and what it allows. A component that receives one cannot use it, since it lacks the key that proves calls. */
export interface Login {
  readonly operator: Operator;
  readonly loginId: string;
  /** `reads`, or methods as `<component>.<Method>`: `checkout.DecideLetter`. */
  readonly allows: readonly string[];
  readonly expiresAtMs: number;
  /** The public half (base64 SPKI) of the key of this login alone, which stays with the operator. */
  readonly proofKey: string;
}

/** Signs a login with the operators' private key, which no component has: a component cannot make one. */
export function signLogin(login: Login, operatorKey: string): string {
  return signToken('operator', Buffer.from(JSON.stringify(login)), readPrivateKey(operatorKey));
}

/** What a token proves, or what is wrong with it. */
export type CheckedLogin = Login | { readonly problem: 'expired' | 'invalid' };

/** Verifies logins with the operators' public key (base64 SPKI). */
export interface LoginVerifier {
  /** The login that a token proves. Any other text is invalid, and so is a login that has no key or claims to live too long. */
  verify(token: string): CheckedLogin;
}

export function loginVerifier(publicKey: string, clock: Clock = systemClock): LoginVerifier {
  const key = readPublicKey(publicKey);
  return { verify: (token) => verifyLogin(token, key, clock.now().getTime()) };
}

/** Whether a login allows a method: `<component>.<Method>`. */
export function allowsMethod({ allows }: Login, method: string, isRead: boolean): boolean {
  return (isRead && allows.includes('reads')) || allows.includes(method);
}

function verifyLogin(token: string, key: KeyObject, nowMs: number): CheckedLogin {
  const opened = openToken(token);
  if (opened === undefined || !isSignedBy('operator', opened, key)) return { problem: 'invalid' };
  // What the operators' key has signed has this form; only the logins of earlier releases have no key.
  const login = JSON.parse(opened.payload.toString()) as Login;
  if (login.proofKey === undefined || login.expiresAtMs > nowMs + longestLoginMs) return { problem: 'invalid' };
  return login.expiresAtMs > nowMs ? login : { problem: 'expired' };
}
