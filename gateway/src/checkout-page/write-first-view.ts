import type { IncomingMessage } from 'node:http';
import type { PageView } from '@eligo/contract';
import { framesId, frameUrl, languageOf, refusalId, viewId } from '@eligo/web-checkout/document';
import { slotsOf, waysToPay } from '@eligo/web-checkout/ways-to-pay';

/**
 * What the document of a page has for its script: the page as it is now, and the frames of the card fields that are shown first. The script takes both where
 * they are, so that a phone waits for two answers one after the other, and not for four. The view is data that no browser executes.
 */
export function firstViewHtml(view: PageView, request: IncomingMessage): string {
  const json = JSON.stringify(view).replaceAll('<', '\\u003c');
  const frames = frameUrls(view, request).map((url) => `<iframe src="${escaped(url)}"></iframe>`);
  return [
    ...(frames.length > 0 ? [`<div id="${framesId}" hidden>${frames.join('')}</div>`] : []),
    `<script type="application/json" id="${viewId}">${json}</script>`,
  ].join('\n    ');
}

/** What the document of a refusal has for its script, which says it in the shopper's language. */
export function refusalHtml(code: string): string {
  return `<script type="application/json" id="${refusalId}">${JSON.stringify(code)}</script>`;
}

/** Whether the form of a page shows card fields as soon as it is there. */
export function showsCardFields(view: PageView): boolean {
  const [way = 'none'] = waysToPay(view);
  return view.state === 'open' && view.card_fields !== null && slotsOf(way).length > 0;
}

// A script that finds itself at another origin or in another language loads other frames.
function frameUrls(view: PageView, { headers }: IncomingMessage): readonly string[] {
  const fields = view.card_fields;
  const parent = originOf(headers.host);
  if (fields?.kind !== 'sandbox' || parent === undefined || !showsCardFields(view)) return [];
  const language = languageOf((headers['accept-language'] ?? '').split(','));
  return slotsOf(waysToPay(view)[0] ?? 'none').map((slot) => frameUrl(fields, { parent, language, slot }));
}

// Pages are https everywhere but on this machine (ELIGO_PUBLIC_URL).
function originOf(host = ''): string | undefined {
  const name = host.replace(/:\d+$/, '');
  const scheme = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(name) ? 'http' : 'https';
  return URL.canParse(`${scheme}://${host}`) ? new URL(`${scheme}://${host}`).origin : undefined;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
