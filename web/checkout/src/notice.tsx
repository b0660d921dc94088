import type { PageView } from '@eligo/contract';
import { useEffect, useRef } from 'preact/hooks';
import { money } from './format.ts';
import type { Language, Strings } from './strings.ts';
import type { Checkout } from './use-checkout.ts';

/** What came of the last try and what to do next. It takes the focus when it appears, so that nobody looks for it. */
export function Notice(given: {
  readonly view: PageView;
  readonly language: Language;
  readonly strings: Strings;
  readonly phase: Checkout['phase'];
  readonly problem: string | undefined;
}) {
  const { view, language, strings, phase, problem } = given;
  const place = useRef<HTMLDivElement>(null);
  const said = problem === undefined ? saidOf(view, language, strings) : problemOf(problem, strings);
  const isShown = said !== undefined && phase === 'idle';
  useEffect(() => {
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

function problemOf(code: string, strings: Strings): Said {
  const text = strings.problems[code] ?? strings.problems.generic ?? '';
  return { title: strings.failedTitle, text, isBad: true };
}

function saidOf(view: PageView, language: Language, strings: Strings): Said | undefined {
  const action = view.next_action;
  switch (action?.type) {
    case 'provide_second_payment_method': {
      const { eligible_amount: held, ineligible_amount: rest } = action.provide_second_payment_method;
      const text = strings.secondCard(
        money(language, held ?? view.health_card_amount),
        money(language, rest ?? view.other_card_amount),
      );
      return { title: strings.secondCardTitle, text, isBad: false };
    }
    case 'provide_alternative_payment_method':
      return { title: strings.otherCardTitle, text: strings.otherCardNeeded, isBad: true };
    case 'payment_failed': {
      const { decline_code: decline, error_code: error } = action.payment_failed;
      const code = [decline, error].find((one) => one !== null && Object.hasOwn(strings.failed, one));
      const why = error === null ? 'timed_out' : (code ?? 'generic');
      const text = `${strings.failed[why] ?? ''} ${why === 'timed_out' ? '' : strings.notCharged}`;
      return { title: strings.failedTitle, text: text.trim(), isBad: true };
    }
    default:
      return undefined;
  }
}
