import type { PageView } from '@eligo/contract';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { money } from './format.ts';
import type { Language, Strings } from './strings.ts';

/** The field for a promo code, or the way to remove the one that was entered. The server prices the order anew; a refused code leaves it as it was. */
export function PromoCode(given: {
  readonly view: PageView;
  readonly language: Language;
  readonly strings: Strings;
  readonly busy: boolean;
  /** Enters a code, or removes it with null; answers why that was refused. */
  readonly onChange: (code: string | null) => Promise<string | undefined>;
}) {
  const { view, language, strings, busy, onChange } = given;
  const { can_change: canChange, entered } = view.promo_code;
  const [code, setCode] = useState('');
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [changed, setChanged] = useState(false);
  const working = useRef(false);
  const input = useRef<HTMLInputElement>(null);
  const remove = useRef<HTMLButtonElement>(null);
  // What had the focus is gone once the order is priced anew.
  useLayoutEffect(() => {
    if (changed) (entered === null ? input : remove).current?.focus();
  }, [changed, entered]);
  const change = async (wanted: string | null) => {
    // A second click arrives before the first has drawn anything.
    if (working.current || busy) return;
    working.current = true;
    setFault(undefined);
    setChanged(false);
    const refused = wanted === '' ? 'missing' : await onChange(wanted);
    working.current = false;
    setFault(refused);
    setChanged(refused === undefined);
    if (refused === undefined) setCode('');
    else input.current?.focus();
  };
  if (!canChange && !changed && fault === undefined) return null;
  return (
    <form
      class="promo"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void change(code.trim());
      }}
    >
      {entered !== null && canChange && (
        <button ref={remove} type="button" class="plain" disabled={busy} onClick={() => void change(null)}>
          {strings.promoRemove(entered.code)}
        </button>
      )}
      {entered === null && canChange && (
        <div class="field">
          <label for="promo-code">{strings.promoCode}</label>
          <div class="entry">
            <input
              ref={input}
              id="promo-code"
              name="promo-code"
              autocomplete="off"
              autocapitalize="characters"
              spellcheck={false}
              maxLength={200}
              value={code}
              readOnly={busy}
              aria-invalid={fault !== undefined}
              aria-describedby={fault === undefined ? undefined : 'promo-fault'}
              onInput={(event) => setCode(event.currentTarget.value)}
            />
            <button type="submit" aria-disabled={busy}>
              {strings.promoApply}
            </button>
          </div>
        </div>
      )}
      {fault !== undefined && (
        <p class="fault" id="promo-fault" role="alert">
          {strings.promoProblems[fault] ?? strings.promoProblems.generic}
        </p>
      )}
      <p class="only-read" role="status">
        {changed ? strings.totalIsNow(money(language, view.totals.total)) : ''}
      </p>
    </form>
  );
}
