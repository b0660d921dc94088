import type { SandboxFields } from '@eligo/contract';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FromFields, Refusal, ToFields } from '../fields/protocol.ts';
import { framesId, frameUrl } from './document.ts';
import { FieldsNote, type FieldsState, useFieldsState } from './fields-state.tsx';
import type { Language, Strings } from './strings.ts';

/** Why there is no card: another try does not mend what is `broken`. */
export type Refused = Refusal | 'broken';

/** The card fields of one card, as the form drives them. */
export interface CardFields {
  isEmpty(): boolean;
  /** The processor's identifier of what stands in the fields, made once for each card typed. It never rejects. */
  tokenize(): Promise<{ readonly id: string } | { readonly refused: Refused }>;
  setBusy(busy: boolean): void;
}

/** For the frame's own calls to the processor; what takes longer did not arrive. */
const answerWithinMs = 20_000;

/**
 * The processor's card fields in a frame of its own origin: what is typed there stays there, and the page gets an identifier. Messages are taken from
 * that frame and origin alone, and sent to that origin alone.
 */
export function CardFrame(given: {
  readonly fields: SandboxFields;
  readonly slot: 'health' | 'other';
  readonly label: string;
  readonly language: Language;
  readonly strings: Strings;
  readonly onFields: (fields: CardFields, isThere: boolean) => void;
  readonly onState: (state: FieldsState) => void;
  readonly onSubmit: () => void;
}) {
  const { fields, slot, label, language, strings, onFields } = given;
  const place = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLIFrameElement | undefined>(undefined);
  const isThere = useRef(false);
  const submit = useRef(given.onSubmit);
  submit.current = given.onSubmit;
  const [height, setHeight] = useState(0);
  const [state, setState] = useFieldsState(given.onState);
  const [isUnanswered, setUnanswered] = useState(false);
  // Another language is told to the frame, which keeps what was typed.
  const first = useRef(language);
  const url = frameUrl(fields, { parent: location.origin, language: first.current, slot });

  useLayoutEffect(() => {
    if (place.current === null) return;
    const early = earlyFrame(place.current, url);
    const element = early ?? newFrame(place.current, url);
    frame.current = element;
    isThere.current = early !== undefined;
    return () => element.remove();
  }, [url]);
  useLayoutEffect(() => {
    if (frame.current === undefined) return;
    frame.current.title = label;
    frame.current.style.height = `${height}px`;
  }, [url, label, height]);
  // An early frame is there, or says so later, as a new one does.
  const show = useRef<() => void>(undefined);
  show.current = () => {
    const message: ToFields = { to: 'card-fields', kind: 'show', language };
    if (isThere.current) frame.current?.contentWindow?.postMessage(message, fields.origin);
  };

  useLayoutEffect(() => {
    const window_ = () => frame.current?.contentWindow ?? undefined;
    const send = (message: ToFields) => window_()?.postMessage(message, fields.origin);
    const waiting = new Map<number, (answer: FromFields) => void>();
    let requests = 0;
    let empty = true;
    let made: string | undefined;
    const hear = (event: MessageEvent<FromFields>) => {
      const message = event.data;
      if (event.origin !== fields.origin || event.source !== window_() || message?.from !== 'card-fields') return;
      if (message.kind === 'height') {
        setHeight(message.height);
        setState('ready');
      } else if (message.kind === 'submit') submit.current();
      else if (message.kind === 'changed') {
        empty = message.empty;
        made = undefined;
        setUnanswered(false);
      } else if (message.kind === 'ready') {
        isThere.current = true;
        show.current?.();
      } else waiting.get(message.request)?.(message);
    };
    addEventListener('message', hear);
    const own: CardFields = {
      isEmpty: () => empty,
      setBusy: (busy) => send({ to: 'card-fields', kind: 'busy', busy }),
      async tokenize() {
        if (made !== undefined) return { id: made };
        setUnanswered(false);
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
        // What the frame answers it shows by itself.
        setUnanswered(answer === undefined);
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
  }, [fields.origin, url, onFields, setState]);
  useLayoutEffect(() => show.current?.(), [url, language]);

  return (
    <div class="frame">
      <FieldsNote {...{ state, strings }} />
      <div ref={place} />
      {isUnanswered && (
        <p class="fault" role="alert">
          {strings.cardNotSent}
        </p>
      )}
    </div>
  );
}

// The frame that the document brought, which loads since then and must not begin anew. None where the browser cannot move it.
function earlyFrame(place: HTMLElement, url: string): HTMLIFrameElement | undefined {
  const frames = [...document.querySelectorAll<HTMLIFrameElement>(`#${framesId} iframe`)];
  const early = frames.find(({ src }) => withoutLanguage(src) === withoutLanguage(url));
  if (early === undefined || !('moveBefore' in place)) return undefined;
  (place as MovesNodes).moveBefore(early, null);
  return early;
}

function newFrame(place: HTMLElement, url: string): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.src = url;
  place.append(frame);
  return frame;
}

// The gateway knows it from a header, which may say less than the browser knows.
function withoutLanguage(url: string): string {
  const one = new URL(url);
  one.searchParams.delete('lang');
  return one.href;
}

/** What TypeScript does not know of elements yet. */
interface MovesNodes {
  moveBefore(node: Node, before: Node | null): void;
}
