import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { idPrefixes, isId } from '@eligo/values';
import type { EnvironmentReader } from './environment.ts';

/** What a page's URL opens: a session's checkout page, a payment link, or the payment page of an invoice. */
export type PageKind = 'checkout_session' | 'payment_link' | 'invoice';

/** The record that a page token opens, with its account and mode. */
export interface PageSubject {
  readonly accountId: string;
  readonly testMode: boolean;
  readonly id: string;
}

/** Makes and verifies the tokens in the URLs of pages of one kind (ADR 21). */
export interface PageTokens {
  tokenOf(subject: PageSubject): string;
  /** What the token opens, or undefined if it was not made with one of the keys. */
  subjectOf(token: string): PageSubject | undefined;
}

/** Opens the tokens from the keys of `ELIGO_PAGE_KEY`, separated by commas: the first signs, all verify. Throws for a key that is too short. */
export function openPageTokens(text: string, kind: PageKind = 'checkout_session'): PageTokens {
  const keys = text.split(',').map((key) => key.trim());
  if (keys.some((key) => key.length < shortestKey)) {
    throw new Error(`Each key of ELIGO_PAGE_KEY must have at least ${shortestKey} characters`);
  }
  const [signing = ''] = keys;
  return {
    tokenOf(subject) {
      const body = bodyOf(subject);
      return body + signatureOf(signing, kind, body).toString('base64url');
    },
    subjectOf(token) {
      if (!tokenForm.test(token)) return undefined;
      const body = token.slice(0, bodyLength);
      const given = Buffer.from(token.slice(bodyLength), 'base64url');
      if (!keys.some((key) => timingSafeEqual(signatureOf(key, kind, body), given))) return undefined;
      return subjectOfBody(kind, body);
    },
  };
}

/** Reads `ELIGO_PAGE_KEY`. What is wrong with it is noted, and the answer is then a key that no other process has. */
export function readPageKey(env: EnvironmentReader): string {
  const key = env.secret('ELIGO_PAGE_KEY');
  if (key === '') return unknownKey();
  try {
    openPageTokens(key);
    return key;
  } catch (error) {
    env.problem(error instanceof Error ? error.message : 'ELIGO_PAGE_KEY is invalid');
  }
  return unknownKey();
}

function unknownKey(): string {
  return randomBytes(shortestKey).toString('hex');
}

const shortestKey = 32;
const idLength = 26;
const bodyLength = 1 + 2 * idLength;
/** 192 bits: 32 characters of base64url without a remainder, so that each signature has one spelling. */
const signatureBytes = 24;
const tokenForm = /^[tl][0-9a-z]{52}[\w-]{32}$/;

// The mode, then the two identifiers without their prefixes: fixed lengths, so that no two subjects share a body.
function bodyOf({ accountId, testMode, id }: PageSubject): string {
  return `${testMode ? 't' : 'l'}${id.slice(-idLength)}${accountId.slice(-idLength)}`;
}

function subjectOfBody(kind: PageKind, body: string): PageSubject | undefined {
  const id = `${idPrefixes[kind]}_${body.slice(1, 1 + idLength)}`;
  const accountId = `${idPrefixes.account}_${body.slice(1 + idLength)}`;
  if (!isId(kind, id) || !isId('account', accountId)) return undefined;
  return { accountId, testMode: body.startsWith('t'), id };
}

// The name in front keeps a signature of this key from meaning anything elsewhere: a token of one kind opens no page of the other.
function signatureOf(key: string, kind: PageKind, body: string): Buffer {
  return createHmac('sha256', key).update(`${purposes[kind]} 1\n${body}`).digest().subarray(0, signatureBytes);
}

const purposes: Readonly<Record<PageKind, string>> = {
  checkout_session: 'eligo checkout page',
  payment_link: 'eligo payment link',
  invoice: 'eligo invoice page',
};
