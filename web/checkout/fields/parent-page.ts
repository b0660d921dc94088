import type { FromBank, FromFields } from './protocol.ts';

/** What the page said of itself when it opened this frame. */
export const query = new URLSearchParams(location.search);
export const language = query.get('lang') === 'es' ? 'es' : 'en';
// The server lets only the page of this origin show the frame.
const parentOrigin = query.get('parent') ?? '';

export function isFromPage(event: MessageEvent): boolean {
  return event.source === parent && event.origin === parentOrigin;
}

export function say(message: FromFields | FromBank): void {
  parent.postMessage(message, parentOrigin);
}

/** Tells the page how high the frame's content is: now, whenever that changes, and when the answer is called. A frame that is not shown yet has no height. */
export function tellHeight(from: 'card-fields' | 'bank'): () => void {
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height > 0) say({ from, kind: 'height', height });
  };
  new ResizeObserver(tell).observe(document.body);
  tell();
  return tell;
}
