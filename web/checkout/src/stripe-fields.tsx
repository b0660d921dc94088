import type { StripeFields as Fields } from '@eligo/contract';
import type {
  Stripe,
  StripeElements,
  StripeElementsOptionsMode,
  StripeError,
  StripePaymentElement,
} from '@stripe/stripe-js';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CardFields, Refused } from './card-frame.tsx';
import { FieldsNote, type FieldsState, useFieldsState } from './fields-state.tsx';
import type { Language, Strings } from './strings.ts';
import { loadStripe, StripeNotLoaded } from './stripe-js.ts';

/**
 * Stripe's Payment Element for one card. What is typed stays with Stripe, and the page gets the identifier of a confirmation token, with which the server
 * confirms. There is no intent yet: the element only knows the amount.
 */
export function StripeCard(given: {
  readonly fields: Fields;
  /** What the card pays at once; 0 sets it up. */
  readonly amountCents: number;
  /** It is authorized now, and captured later. */
  readonly isHold: boolean;
  readonly accentColor: string | null;
  readonly language: Language;
  readonly strings: Strings;
  readonly onFields: (fields: CardFields, isThere: boolean) => void;
  readonly onState: (state: FieldsState) => void;
}) {
  const { fields, amountCents, isHold, accentColor, language, strings, onFields } = given;
  const place = useRef<HTMLDivElement>(null);
  const elements = useRef<StripeElements | undefined>(undefined);
  const [state, setState] = useFieldsState(given.onState);
  const [refused, setRefused] = useState<Refused | undefined>(undefined);
  const { publishable_key: key, account, keeps_card: keepsCard, on_session_only: isOnSessionOnly } = fields;
  const setsUp = amountCents === 0;

  const spoken = useRef(language);
  spoken.current = language;
  const held = useRef(isHold);
  held.current = isHold;
  // An amount of zero makes other fields; another amount, capture method or language does not.
  useEffect(() => {
    let isGone = false;
    let element: StripePaymentElement | undefined;
    let own: CardFields | undefined;
    setState('loading');
    const show = (stripe: Stripe) => {
      if (isGone || place.current === null) return;
      const group = stripe.elements(
        optionsOf({
          ...{ amountCents, isHold: held.current, keepsCard, isOnSessionOnly, accentColor },
          language: spoken.current,
        }),
      );
      elements.current = group;
      element = group.create('payment', {
        layout: 'tabs',
        wallets: { applePay: 'never', googlePay: 'never', link: 'never' },
      });
      own = cardFieldsOf(stripe, group, element, () => held.current, setRefused);
      element.on('ready', () => setState('ready'));
      element.on('loaderror', ({ error }) => setState(isRefusal(error) ? 'broken' : 'failed'));
      element.mount(place.current);
      onFields(own, true);
    };
    loadStripe(key, account)
      .then(show)
      .catch((error: unknown) => {
        if (isGone) return;
        const isNotLoaded = error instanceof StripeNotLoaded;
        setState(isNotLoaded ? 'failed' : 'broken');
        // Tells whoever opens the browser's console what Stripe.js refuses.
        if (!isNotLoaded) reportError(error);
      });
    return () => {
      isGone = true;
      if (own !== undefined) onFields(own, false);
      elements.current = undefined;
      element?.destroy();
    };
  }, [key, account, keepsCard, isOnSessionOnly, setsUp, accentColor, onFields, setState]);

  useEffect(() => {
    if (amountCents > 0) elements.current?.update({ amount: amountCents, captureMethod: captureMethodOf(isHold) });
  }, [amountCents, isHold]);

  // What was typed stays.
  useEffect(() => {
    elements.current?.update({ locale: language });
  }, [language]);

  return (
    <div>
      <FieldsNote {...{ state, strings }} />
      <div ref={place} />
      {refused !== undefined && refused !== 'incomplete' && (
        <p class="fault" role="alert">
          {{ declined: strings.cardRefused, unreachable: strings.cardNotSent, broken: strings.fieldsBroken }[refused]}
        </p>
      )}
    </div>
  );
}

const captureMethodOf = (isHold: boolean) => (isHold ? 'manual' : 'automatic');

function optionsOf(given: {
  amountCents: number;
  isHold: boolean;
  keepsCard: boolean;
  isOnSessionOnly: boolean;
  accentColor: string | null;
  language: Language;
}): StripeElementsOptionsMode {
  const { amountCents, isHold, keepsCard, isOnSessionOnly, accentColor, language } = given;
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const options: Omit<StripeElementsOptionsMode, 'mode' | 'amount'> & { currency: string } = {
    currency: 'usd',
    // As the server creates the intent: a token that says otherwise is refused.
    allowedPaymentMethodTypes: ['card'],
    ...(keepsCard ? { setupFutureUsage: isOnSessionOnly ? 'on_session' : 'off_session' } : {}),
    locale: language,
    appearance: {
      theme: isDark ? 'night' : 'stripe',
      ...(accentColor === null ? {} : { variables: { colorPrimary: accentColor } }),
    },
  };
  if (amountCents === 0) return { ...options, mode: 'setup' };
  return { ...options, mode: 'payment', amount: amountCents, captureMethod: captureMethodOf(isHold) };
}

function cardFieldsOf(
  stripe: Stripe,
  elements: StripeElements,
  element: StripePaymentElement,
  isHold: () => boolean,
  onRefused: (reason: Refused | undefined) => void,
): CardFields {
  let empty = true;
  let made: { readonly id: string; readonly isHold: boolean } | undefined;
  element.on('change', (change) => {
    ({ empty } = change);
    made = undefined;
    onRefused(undefined);
  });
  const refuse = (refused: Refused) => {
    onRefused(refused);
    return { refused };
  };
  return {
    isEmpty: () => empty,
    setBusy: (busy) => element.update({ readOnly: busy }),
    async tokenize() {
      // Stripe refuses a token whose fields were told another capture method than the intent's.
      if (made !== undefined && made.isHold === isHold()) return { id: made.id };
      const tokenOf = { isHold: isHold() };
      onRefused(undefined);
      try {
        // Shows what is missing in the fields.
        const { error } = await elements.submit();
        if (error !== undefined) return refuse(reasonOf(error));
        // Where a bank's page leads back to.
        const params = { return_url: location.href };
        const answer = await stripe.createConfirmationToken({ elements, params });
        if (answer.confirmationToken === undefined) return refuse(reasonOf(answer.error));
        made = { id: answer.confirmationToken.id, ...tokenOf };
        return { id: made.id };
      } catch (error) {
        reportError(error);
        return refuse('broken');
      }
    },
  };
}

// What the page asked for, or the account's key, is refused: another try does not help.
function isRefusal({ type }: StripeError): boolean {
  return type === 'invalid_request_error' || type === 'authentication_error';
}

function reasonOf(error: StripeError): Refused {
  if (isRefusal(error)) return 'broken';
  if (error.type === 'validation_error') return 'incomplete';
  return error.type === 'card_error' ? 'declined' : 'unreachable';
}
