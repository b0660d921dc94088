import type { PageView } from '@eligo/contract';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { money } from './format.ts';
import { InvoiceDocuments } from './invoice-documents.tsx';
import type { Language, Strings } from './strings.ts';

/**
 * The end of a session: what became of it and the way back. The heading takes the focus, so that a screen reader begins there. While the page asks the
 * questions of a letter, their heading takes it.
 */
export function Outcome(given: {
  readonly view: PageView;
  readonly leaving: boolean;
  readonly language: Language;
  readonly strings: Strings;
}) {
  const { view, leaving, language, strings } = given;
  const heading = useFocus(!view.asks_letter_questions);
  const { title, text, isGood } = outcomeOf(view, language, strings);
  const back = isGood ? (view.success_url ?? view.cancel_url) : (view.cancel_url ?? view.success_url);
  const after = isGood ? view.custom_text?.after_submit.message : null;
  const letterUrl = letterUrlOf(view);
  return (
    <section class={`outcome ${isGood ? 'good' : ''}`}>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {text !== null && <p>{text}</p>}
      {after && <p>{after}</p>}
      {letterUrl !== null && (
        <p>
          <a class="button" href={letterUrl}>
            {strings.goToLetter}
          </a>
        </p>
      )}
      <InvoiceDocuments strings={strings} />
      {leaving && <p class="quiet">{strings.redirecting(view.shop.name)}</p>}
      {back !== null && (
        <p>
          <a class={letterUrl === null ? 'button' : undefined} href={back}>
            {strings.backToShop(view.shop.name)}
          </a>
        </p>
      )}
    </section>
  );
}

function useFocus(takesFocus: boolean) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [takesFocus]);
  return heading;
}

function outcomeOf(
  view: PageView,
  language: Language,
  strings: Strings,
): { title: string; text: string | null; isGood: boolean } {
  switch (view.state) {
    case 'letter_pending': {
      const awaits = view.manual_capture ? strings.letterOfHeldOrder : strings.letter;
      return {
        title: strings.letterTitle,
        text: view.asks_letter_questions ? strings.letterAsks : awaits,
        isGood: true,
      };
    }
    case 'expired':
      return { title: strings.expiredTitle, text: strings.expired, isGood: false };
    case 'canceled':
      return { title: strings.canceledTitle, text: strings.canceled, isGood: false };
    case 'complete':
    case 'open':
      return { ...doneOf(view, language, strings), isGood: true };
  }
}

function doneOf(view: PageView, language: Language, strings: Strings): { title: string; text: string | null } {
  if (view.mode === 'setup') return { title: strings.savedTitle, text: null };
  if (view.due_now === 0 && view.trial_end !== null) return { title: strings.trialTitle, text: null };
  const captured = view.amount_captured ?? 0;
  if (view.manual_capture) {
    const text = captured > 0 ? strings.partlyCharged(money(language, captured)) : strings.authorized;
    return { title: strings.authorizedTitle, text };
  }
  // A gateway of the release before does not tell it.
  const isLess = typeof view.amount_captured === 'number' && captured < view.totals.total;
  return { title: strings.completeTitle, text: isLess ? strings.chargedLess(money(language, captured)) : null };
}

// Not where the letter is collected on this page itself.
function letterUrlOf({ next_action: action }: PageView): string | null {
  if (action?.type !== 'collect_letter_of_medical_necessity') return null;
  const { url } = action.collect_letter_of_medical_necessity;
  return url === null || new URL(url).pathname === location.pathname ? null : url;
}
