import type { Scope } from '@eligo/postgres';
import { type EnvironmentReader, openPageTokens, readPageKey, readPublicUrl } from '@eligo/service';

/** The URLs of pages that shoppers open. */
export interface PageUrls {
  /** Where the shopper of a session pays: its `redirect_url`. */
  urlOf(scope: Scope, sessionId: string): string;
  /** Where a payment link opens a session for its visitor. */
  urlOfLink(scope: Scope, paymentLinkId: string): string;
}

/** Reads `ELIGO_PUBLIC_URL` and `ELIGO_PAGE_KEY`. */
export function readPageUrls(env: EnvironmentReader): PageUrls {
  const base = readPublicUrl(env);
  const key = readPageKey(env);
  const [sessions, links] = [openPageTokens(key, 'checkout_session'), openPageTokens(key, 'payment_link')];
  return {
    urlOf: (scope, id) => `${base}/pay/${sessions.tokenOf({ ...scope, id })}`,
    urlOfLink: (scope, id) => `${base}/buy/${links.tokenOf({ ...scope, id })}`,
  };
}
