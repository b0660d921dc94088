import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Strings } from './strings.ts';

/** What stands in place of a page that cannot be shown. The heading takes the focus, so that a screen reader begins there. */
export function Refused({ code, strings }: { code: string; strings: Strings }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const { title, text } = refusalOf(code, strings);
  return (
    <section class="outcome">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <p>{text}</p>
      {!isFinal(code) && (
        <p>
          <button type="button" onClick={() => location.reload()}>
            {strings.tryAgain}
          </button>
        </p>
      )}
    </section>
  );
}

export function refusalOf(code: string, strings: Strings): { readonly title: string; readonly text: string } {
  return (Object.hasOwn(strings.refusals, code) ? strings.refusals[code] : undefined) ?? strings.notLoaded;
}

/** Whether asking again changes nothing. */
export function isFinal(code: string): boolean {
  return finalCodes.has(code);
}

const finalCodes = new Set([
  ...['checkout_session_not_found', 'invoice_not_found'],
  ...['payment_link_not_found', 'payment_link_inactive'],
]);
