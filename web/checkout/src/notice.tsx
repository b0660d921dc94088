import type { PageView } from '@eligo/contract';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { declineText } from './decline-text.ts';
import { money } from './format.ts';
import type { PageError } from './page-api.ts';
import type { Language, Strings } from './strings.ts';
import type { Checkout } from './use-checkout.ts';

/** What came of the last try and what to do next. It takes the focus when it appears, so that nobody looks for it. */
export function Notice(given: {
  readonly view: PageView;
  readonly language: Language;
  readonly strings: Strings;
  readonly phase: Checkout['phase'];
  readonly problem: PageError | undefined;
}) {
  const { view, language, strings, phase, problem } = given;
  const place = useRef<HTMLDivElement>(null);
  const said = problem === undefined ? saidOf(view, language, strings) : problemOf(problem, strings);
  // What came of an earlier try is past while the bank asks. A request that failed is not.
  const isPast = problem === undefined && view.authentication !== null;
  const isShown = said !== undefined && phase === 'idle' && !isPast;
  useLayoutEffect(() => {
    if (isShown) place.current?.focus();
  }, [isShown]);
  if (!isShown) return null;
  return (
    <div class={said.isBad ? 'alert' : 'note'} role="alert" tabIndex={-1} ref={place}>
      <h2>{said.title}</h2>
      <p>{said.text}</p>
    </div>
  );
}

interface Said {
  readonly title: string;
  readonly text: string;
  readonly isBad: boolean;
}

function problemOf({ code, isDecline }: PageError, strings: Strings): Said {
  const texts = isDecline ? strings.failed : strings.problems;
  const text = declineText(texts, [code, 'generic']) ?? '';
  return { title: strings.failedTitle, text, isBad: true };
}

function saidOf(view: PageView, language: Language, strings: Strings): Said | undefined {
  const action = view.next_action;
  switch (action?.type) {
    case 'provide_second_payment_method': {
      const { eligible_amount: held, ineligible_amount: rest } = action.provide_second_payment_method;
      if (view.first_renewal === null && rest !== null && rest > view.other_card_amount) {
        const asked = (held ?? 0) + rest - view.other_card_amount;
        const short = strings.shortCard(money(language, held ?? 0), money(language, asked), money(language, rest));
        return { title: strings.secondCardTitle, text: short, isBad: false };
      }
      const say = view.first_renewal === null ? strings.secondCard : strings.secondCardForTrial;
      const text = say(
        money(language, held ?? view.health_card_amount),
        money(language, rest ?? view.other_card_amount),
      );
      return { title: strings.secondCardTitle, text, isBad: false };
    }
    case 'provide_alternative_payment_method':
      if (view.letter_denied) {
        const say = view.health_card_amount > 0 ? strings.letterDeniedForSome : strings.letterDenied;
        return { title: strings.letterDeniedTitle, text: say, isBad: true };
      }
      return { title: strings.otherCardTitle, text: strings.otherCardNeeded, isBad: true };
    case 'payment_failed': {
      const { decline_code: decline, error_code: error } = action.payment_failed;
      if (error === null) return { title: strings.failedTitle, text: strings.failed.timed_out ?? '', isBad: true };
      const text = `${declineText(strings.failed, [decline, error, 'generic'])} ${strings.notCharged}`;
      return { title: strings.failedTitle, text: text.trim(), isBad: true };
    }
    default:
      return undefined;
  }
}
