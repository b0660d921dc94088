import { useEffect, useRef, useState } from 'preact/hooks';
import type { FromFields, Refusal, ToFields } from '../fields/protocol.ts';
import type { Language, Strings } from './strings.ts';

/** The card fields of one card, as the form drives them. */
export interface CardFields {
  isEmpty(): boolean;
  /** The processor's identifier of what stands in the fields, made once for each card typed. */
  tokenize(): Promise<{ readonly id: string } | { readonly refused: Refusal }>;
  setBusy(busy: boolean): void;
}

/** A frame that never answers is one that did not load. */
const answerWithinMs = 20_000;

/**
 * The processor's card fields in a frame of its own origin: what is typed there stays there, and the page gets an identifier. Messages are taken from
 * that frame and origin alone, and sent to that origin alone.
 */
export function CardFrame(given: {
  readonly fields: { readonly url: string; readonly origin: string };
  readonly slot: 'health' | 'other';
  readonly label: string;
  readonly language: Language;
  readonly strings: Strings;
  readonly onFields: (fields: CardFields, isThere: boolean) => void;
  readonly onSubmit: () => void;
}) {
  const { fields, slot, label, language, strings, onFields } = given;
  const frame = useRef<HTMLIFrameElement>(null);
  const submit = useRef(given.onSubmit);
  submit.current = given.onSubmit;
  const [height, setHeight] = useState<number | undefined>(undefined);

  useEffect(() => {
    const window_ = () => frame.current?.contentWindow ?? undefined;
    const send = (message: ToFields) => window_()?.postMessage(message, fields.origin);
    const waiting = new Map<number, (answer: FromFields) => void>();
    let requests = 0;
    let empty = true;
    let made: string | undefined;
    const hear = (event: MessageEvent<FromFields>) => {
      const message = event.data;
      if (event.origin !== fields.origin || event.source !== window_() || message?.from !== 'card-fields') return;
      if (message.kind === 'height') setHeight(message.height);
      else if (message.kind === 'submit') submit.current();
      else if (message.kind === 'changed') {
        empty = message.empty;
        made = undefined;
      } else if (message.kind !== 'ready') waiting.get(message.request)?.(message);
    };
    addEventListener('message', hear);
    const own: CardFields = {
      isEmpty: () => empty,
      setBusy: (busy) => send({ to: 'card-fields', kind: 'busy', busy }),
      async tokenize() {
        if (made !== undefined) return { id: made };
        const request = ++requests;
        const answer = await new Promise<FromFields | undefined>((resolve) => {
          const timer = setTimeout(() => resolve(undefined), answerWithinMs);
          waiting.set(request, (message) => {
            clearTimeout(timer);
            resolve(message);
          });
          send({ to: 'card-fields', kind: 'tokenize', request });
        });
        waiting.delete(request);
        if (answer?.kind !== 'tokenized')
          return { refused: answer?.kind === 'refused' ? answer.reason : 'unreachable' };
        made = answer.id;
        return { id: answer.id };
      },
    };
    onFields(own, true);
    return () => {
      removeEventListener('message', hear);
      onFields(own, false);
    };
  }, [fields.origin, onFields]);

  const url = new URL(fields.url);
  url.searchParams.set('parent', location.origin);
  url.searchParams.set('lang', language);
  url.searchParams.set('slot', slot);
  return (
    <div class="frame">
      {height === undefined && <p class="quiet">{strings.fieldsLoading}</p>}
      <iframe ref={frame} src={url.href} title={label} style={{ height: `${height ?? 0}px` }} />
    </div>
  );
}
