import type { SandboxFields } from '@eligo/contract';
import type { ReleaseTrain } from '@stripe/stripe-js';
import type { Slot } from './ways-to-pay.ts';

// What the gateway writes into the document of a page, and the page's script takes from there. Both sides import this file.

/** The element with the page as it was when the document was written, as JSON. */
export const viewId = 'view';
/** The element with the code of a refusal, as JSON, in place of a page. */
export const refusalId = 'refusal';
/** The element with the frames of the card fields that are shown first: they load beside the script, and not after it. */
export const framesId = 'frames';

/** The gateway has answered a payment by then, and given it up where it has not begun. */
export const answeredWithinMs = 9_200;

/** The release of Stripe.js that the page is written for: that of the installed `@stripe/stripe-js`, whose types say what its calls take. */
export const stripeRelease: ReleaseTrain = 'endive';
export const stripeScriptUrl = `https://js.stripe.com/${stripeRelease}/stripe.js`;

export type Language = 'en' | 'es';

/** The first language that the page speaks, of those that a shopper reads. */
export function languageOf(tags: readonly string[]): Language {
  const known = tags.map((tag) => tag.trim().slice(0, 2).toLowerCase()).find((tag) => tag === 'en' || tag === 'es');
  return known === 'es' ? 'es' : 'en';
}

/** The document with the fields of one card, for the page of one origin. */
export function frameUrl(
  { url }: SandboxFields,
  { parent, language, slot }: { readonly parent: string; readonly language: Language; readonly slot: Slot },
): string {
  const frame = new URL(url);
  frame.searchParams.set('parent', parent);
  frame.searchParams.set('lang', language);
  frame.searchParams.set('slot', slot);
  return frame.href;
}
