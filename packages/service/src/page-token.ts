import { createHmac, timingSafeEqual } from 'node:crypto';
import { isId } from '@eligo/values';

/** The session that a page token opens, with its account and mode. */
export interface PageSubject {
  readonly accountId: string;
  readonly testMode: boolean;
  readonly sessionId: string;
}

/** Makes and verifies the tokens in the URLs of checkout pages (ADR 21). */
export interface PageTokens {
  tokenOf(subject: PageSubject): string;
  /** What the token opens, or undefined if it was not made with one of the keys. */
  subjectOf(token: string): PageSubject | undefined;
}

/** Opens the tokens from the keys of `ELIGO_PAGE_KEY`, separated by commas: the first signs, all verify. Throws for a key that is too short. */
export function openPageTokens(text: string): PageTokens {
  const keys = text.split(',').map((key) => key.trim());
  if (keys.some((key) => key.length < shortestKey)) {
    throw new Error(`Each key of ELIGO_PAGE_KEY must have at least ${shortestKey} characters`);
  }
  const [signing = ''] = keys;
  return {
    tokenOf(subject) {
      const body = bodyOf(subject);
      return body + signatureOf(signing, body).toString('base64url');
    },
    subjectOf(token) {
      if (!tokenForm.test(token)) return undefined;
      const body = token.slice(0, bodyLength);
      const given = Buffer.from(token.slice(bodyLength), 'base64url');
      if (!keys.some((key) => timingSafeEqual(signatureOf(key, body), given))) return undefined;
      return subjectOfBody(body);
    },
  };
}

const shortestKey = 32;
const idLength = 26;
const bodyLength = 1 + 2 * idLength;
/** 192 bits: 32 characters of base64url without a remainder, so that each signature has one spelling. */
const signatureBytes = 24;
const tokenForm = /^[tl][0-9a-z]{52}[\w-]{32}$/;

// The mode, then the two identifiers without their prefixes: fixed lengths, so that no two subjects share a body.
function bodyOf({ accountId, testMode, sessionId }: PageSubject): string {
  return `${testMode ? 't' : 'l'}${sessionId.slice(-idLength)}${accountId.slice(-idLength)}`;
}

function subjectOfBody(body: string): PageSubject | undefined {
  const sessionId = `fcs_${body.slice(1, 1 + idLength)}`;
  const accountId = `facct_${body.slice(1 + idLength)}`;
  if (!isId('checkout_session', sessionId) || !isId('account', accountId)) return undefined;
  return { accountId, testMode: body.startsWith('t'), sessionId };
}

// The name in front keeps a signature of this key from meaning anything elsewhere.
function signatureOf(key: string, body: string): Buffer {
  return createHmac('sha256', key).update(`eligo checkout page 1\n${body}`).digest().subarray(0, signatureBytes);
}
