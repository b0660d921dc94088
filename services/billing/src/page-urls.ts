import type { Scope } from '@eligo/postgres';
import { type EnvironmentReader, openPageTokens, readPageKey, readPublicUrl } from '@eligo/service';

/** The URLs of pages that customers open. */
export interface PageUrls {
  /** Where the customer of an invoice pays it. */
  urlOfInvoice(scope: Scope, invoiceId: string): string;
}

/** Reads `ELIGO_PUBLIC_URL` and `ELIGO_PAGE_KEY`. */
export function readPageUrls(env: EnvironmentReader): PageUrls {
  const base = readPublicUrl(env);
  const tokens = openPageTokens(readPageKey(env), 'invoice');
  return { urlOfInvoice: (scope, id) => `${base}/invoice/${tokens.tokenOf({ ...scope, id })}` };
}
