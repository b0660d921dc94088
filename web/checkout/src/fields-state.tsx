import { useEffect, useState } from 'preact/hooks';
import type { Strings } from './strings.ts';

/** Whether the fields of a card are there; they come from another origin. Fields that failed may still come; fields that are broken do not. */
export type FieldsState = 'loading' | 'ready' | 'failed' | 'broken';

/** What is not there by then does not load: a slow phone has it within ten seconds. */
export const loadWithinMs = 20_000;

/** The state of one card's fields, and the way to change it. `onState` is told each. */
export function useFieldsState(onState: (state: FieldsState) => void) {
  const [state, setState] = useState<FieldsState>('loading');
  useEffect(() => onState(state), [state, onState]);
  useEffect(() => {
    if (state !== 'loading') return;
    const timer = setTimeout(() => setState('failed'), loadWithinMs);
    return () => clearTimeout(timer);
  }, [state]);
  return [state, setState] as const;
}

/** What stands in place of fields that are not there. */
export function FieldsNote({ state, strings }: { state: FieldsState; strings: Strings }) {
  if (state === 'ready') return null;
  if (state === 'loading') return <p class="quiet">{strings.fieldsLoading}</p>;
  return (
    <p class="fault" role="alert">
      {textOf(state, strings)}
    </p>
  );
}

export function textOf(state: Exclude<FieldsState, 'ready'>, strings: Strings): string {
  return { loading: strings.fieldsLoading, failed: strings.fieldsFailed, broken: strings.fieldsBroken }[state];
}
