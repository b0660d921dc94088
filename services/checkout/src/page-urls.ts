import type { Scope } from '@eligo/postgres';
import { type EnvironmentReader, openPageTokens, readPageKey } from '@eligo/service';

/** The URLs of pages that shoppers open. */
export interface PageUrls {
  /** Where the shopper of a session pays: its `redirect_url`. */
  urlOf(scope: Scope, sessionId: string): string;
  /** Where a payment link opens a session for its visitor. */
  urlOfLink(scope: Scope, paymentLinkId: string): string;
}

/** Reads `ELIGO_PUBLIC_URL` and `ELIGO_PAGE_KEY`. */
export function readPageUrls(env: EnvironmentReader): PageUrls {
  const base = env.url('ELIGO_PUBLIC_URL').replace(/\/+$/, '');
  if (!isFitForPages(base, env.stage)) {
    env.problem(
      'ELIGO_PUBLIC_URL must be an https URL without query or fragment; http is allowed for this machine only',
    );
  }
  const key = readPageKey(env);
  const [sessions, links] = [openPageTokens(key, 'checkout_session'), openPageTokens(key, 'payment_link')];
  return {
    urlOf: (scope, id) => `${base}/pay/${sessions.tokenOf({ ...scope, id })}`,
    urlOfLink: (scope, id) => `${base}/buy/${links.tokenOf({ ...scope, id })}`,
  };
}

// The token in the URL pays a session, so it does not cross a network unencrypted in production.
function isFitForPages(text: string, stage: EnvironmentReader['stage']): boolean {
  if (!URL.canParse(text)) return true;
  const { protocol, hostname, search, hash } = new URL(text);
  if (search !== '' || hash !== '') return false;
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (stage !== 'production' || loopback.test(hostname));
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
