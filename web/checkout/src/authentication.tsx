import type { PageAuthentication } from '@eligo/contract';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FromBank } from '../fields/protocol.ts';
import type { Language, Strings } from './strings.ts';
import { loadStripeInTime } from './stripe-js.ts';

/**
 * The bank of a card asks the shopper to confirm the payment: in Stripe's own window, or in a frame of the sandbox's bank. Whatever the browser learns of it,
 * the server asks the processor what came of it.
 */
export function Authentication(given: {
  readonly authentication: PageAuthentication;
  /** The card is saved, and nothing is charged. */
  readonly isSaved: boolean;
  readonly language: Language;
  readonly strings: Strings;
  readonly busy: boolean;
  readonly onDone: (giveUp: boolean) => void;
}) {
  const { authentication, isSaved, language, strings, busy, onDone } = given;
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <section class="authentication" aria-labelledby="authentication">
      <h2 id="authentication" ref={heading} tabIndex={-1}>
        {strings.bankTitle}
      </h2>
      <p>{isSaved ? strings.bankSaves : strings.bank}</p>
      {authentication.kind === 'sandbox' ? (
        <BankFrame {...{ authentication, language, strings, onDone }} />
      ) : (
        <StripeWindow {...{ authentication, strings, busy, onDone }} />
      )}
      <button type="button" disabled={busy} onClick={() => onDone(true)}>
        {strings.useOtherCard}
      </button>
    </section>
  );
}

function BankFrame(given: {
  readonly authentication: Extract<PageAuthentication, { kind: 'sandbox' }>;
  readonly language: Language;
  readonly strings: Strings;
  readonly onDone: (giveUp: boolean) => void;
}) {
  const { authentication, language, strings, onDone } = given;
  const { url: address, origin } = authentication;
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(0);
  const done = useRef(onDone);
  done.current = onDone;
  useEffect(() => {
    const hear = (event: MessageEvent<FromBank>) => {
      if (event.origin !== origin || event.source !== frame.current?.contentWindow) return;
      if (event.data?.from !== 'bank') return;
      if (event.data.kind === 'height') setHeight(event.data.height);
      else done.current(false);
    };
    addEventListener('message', hear);
    return () => removeEventListener('message', hear);
  }, [origin]);
  const url = new URL(address);
  url.searchParams.set('parent', location.origin);
  url.searchParams.set('lang', language);
  return (
    <div class="frame">
      {/* A frame of its own for each address: one that goes on to another would be a step of the back button. */}
      <iframe key={url.href} ref={frame} src={url.href} title={strings.bankTitle} style={{ height: `${height}px` }} />
    </div>
  );
}

function StripeWindow(given: {
  readonly authentication: Extract<PageAuthentication, { kind: 'stripe' }>;
  readonly strings: Strings;
  readonly busy: boolean;
  readonly onDone: (giveUp: boolean) => void;
}) {
  const { authentication, strings, busy, onDone } = given;
  const { publishable_key: key, account, client_secret: clientSecret } = authentication;
  const [state, setState] = useState<'open' | 'closed' | 'failed'>('open');
  const done = useRef(onDone);
  done.current = onDone;
  const open = useCallback(() => {
    setState('open');
    loadStripeInTime(key, account)
      .then((stripe) => stripe.handleNextAction({ clientSecret }))
      .then(
        () => {
          setState('closed');
          done.current(false);
        },
        () => setState('failed'),
      );
  }, [key, account, clientSecret]);
  useEffect(open, [open]);
  if (state === 'open') return <p class="quiet">{strings.bankOpening}</p>;
  return (
    <>
      {state === 'failed' && (
        <p class="fault" role="alert">
          {strings.bankFailed}
        </p>
      )}
      <button type="button" disabled={busy} onClick={open}>
        {strings.bankAgain}
      </button>
    </>
  );
}
