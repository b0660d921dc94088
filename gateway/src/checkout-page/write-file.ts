import type { ServerResponse } from 'node:http';
import { stripeScriptUrl } from '@eligo/web-checkout/document';
import type { HeaderList } from '../http/write-answer.ts';
import type { PageFile } from './page-files.ts';

/** What a page may load beside its own files. */
export interface PageOrigins {
  /** Of the sandbox's card fields. */
  readonly frame: string | undefined;
  readonly logo: string | undefined;
  /** Whether it shows Stripe's card fields. */
  readonly stripe: boolean;
}

/** What every page carries, whatever it loads. */
export const pageHeaders: HeaderList = [
  ...['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer'],
  ...['Strict-Transport-Security', 'max-age=31536000', 'Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Permissions-Policy', 'camera=(), geolocation=(), microphone=()'],
];

const noOrigins = { script: '', connect: '' };
// The scripts, frames and API of Stripe.js that the page uses: not the maps of its address fields, and no styles.
const stripeOrigins = {
  script: ' https://js.stripe.com https://*.js.stripe.com',
  connect: ' https://api.stripe.com',
  frame: 'https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com',
};

/**
 * Writes the document of a page: never cached, with the origins that this page may load from. `preloads` are what its script asks for first: a browser
 * asks for it together with the script, which saves a slow phone a round trip.
 */
export function writeDocument(
  response: ServerResponse,
  status: number,
  file: PageFile,
  requestId: string,
  {
    origins,
    preloads = [],
    headers = [],
  }: { readonly origins: PageOrigins; readonly preloads?: readonly string[]; readonly headers?: HeaderList },
): void {
  const { script, connect, frame } = origins.stripe ? stripeOrigins : { ...noOrigins, frame: origins.frame ?? '' };
  const policy = [
    "default-src 'none'",
    `script-src 'self'${script}`,
    "style-src 'self'",
    `connect-src 'self'${connect}`,
    `img-src 'self'${origins.logo === undefined ? '' : ` ${origins.logo}`}`,
    ...(frame === '' ? [] : [`frame-src ${frame}`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  write(response, status, file, [
    'Request-Id',
    requestId,
    'Cache-Control',
    'no-store',
    'Content-Security-Policy',
    policy,
    ...(preloads.length === 0 ? [] : ['Link', preloads.join(', ')]),
    ...headers,
  ]);
}

/** Has the browser ask for a call of the page's own. */
export const callPreload = (path: string) => `<${path}>; rel=preload; as=fetch; crossorigin`;
/** Has the browser load Stripe.js beside the page's script, and not after it. */
export const stripePreload = `<${stripeScriptUrl}>; rel=preload; as=script`;

/** Writes a script or style sheet: its name is a hash of what is in it, so that it is never asked for again. */
export function writeAsset(response: ServerResponse, file: PageFile, requestId: string): void {
  write(response, 200, file, ['Request-Id', requestId, 'Cache-Control', 'public, max-age=31536000, immutable']);
}

function write(response: ServerResponse, status: number, file: PageFile, headers: HeaderList): void {
  if (response.headersSent || response.destroyed) return;
  const accepted = response.req.headers['accept-encoding'] ?? '';
  const isGzipped = /(?:^|[,\s])(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted);
  const bytes = isGzipped ? file.gzipped : file.bytes;
  response.writeHead(status, [
    ...['Content-Type', file.type, 'Content-Length', String(bytes.length), 'Vary', 'Accept-Encoding'],
    ...(isGzipped ? ['Content-Encoding', 'gzip'] : []),
    ...headers,
    ...pageHeaders,
  ]);
  response.end(response.req.method === 'HEAD' ? undefined : bytes);
}
