import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Strings } from './strings.ts';

/** Ends the session after a question: one touch too many must not end an order. */
export function CancelOrder(given: { strings: Strings; busy: boolean; onCancel: () => Promise<void> }) {
  const { strings, busy, onCancel } = given;
  const [isAsking, setAsking] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  const open = useRef<HTMLButtonElement>(null);
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    if (isAsking) keep.current?.focus();
    else if (wasAsking.current) open.current?.focus();
    wasAsking.current = isAsking;
  }, [isAsking]);
  if (!isAsking) {
    return (
      <button type="button" class="plain cancel" ref={open} disabled={busy} onClick={() => setAsking(true)}>
        {strings.cancel}
      </button>
    );
  }
  return (
    <fieldset class="question">
      <legend>{strings.cancelQuestion}</legend>
      <button type="button" disabled={busy} onClick={() => void onCancel()}>
        {strings.cancelYes}
      </button>
      <button type="button" ref={keep} disabled={busy} onClick={() => setAsking(false)}>
        {strings.cancelNo}
      </button>
    </fieldset>
  );
}
