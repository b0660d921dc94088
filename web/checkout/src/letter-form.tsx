import type { PageLetter } from '@eligo/contract';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Strings } from './strings.ts';

type Field = 'condition' | 'reason' | 'provider';
const fields: readonly { readonly name: Field; readonly isRequired: boolean }[] = [
  { name: 'condition', isRequired: true },
  { name: 'reason', isRequired: true },
  { name: 'provider', isRequired: false },
];

/**
 * The questions of a letter of medical necessity. The answers are sent once and shown nowhere again. The heading takes the focus, so that the shopper does
 * not miss what is still to do.
 */
export function LetterForm(given: {
  readonly strings: Strings;
  readonly busy: boolean;
  /** The last answers did not arrive. */
  readonly hasFailed: boolean;
  readonly onAnswer: (answers: PageLetter) => Promise<void>;
}) {
  const { strings, busy, hasFailed, onAnswer } = given;
  const [answers, setAnswers] = useState<Readonly<Record<Field, string>>>({ condition: '', reason: '', provider: '' });
  const [consent, setConsent] = useState(false);
  const [missing, setMissing] = useState<readonly string[]>([]);
  const form = useRef<HTMLFormElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  // With what is drawn, so that a screen reader goes on from here.
  useLayoutEffect(() => heading.current?.focus(), []);
  const submit = () => {
    if (busy) return;
    const absent: string[] = fields.flatMap(({ name, isRequired }) =>
      isRequired && answers[name].trim() === '' ? [name] : [],
    );
    if (!consent) absent.push('consent');
    setMissing(absent);
    const [first] = absent;
    if (first !== undefined) return form.current?.querySelector<HTMLElement>(`#${first}`)?.focus();
    const { provider, ...needed } = answers;
    void onAnswer({ ...needed, ...(provider.trim() === '' ? {} : { provider }), consent: true });
  };
  const described = (name: string) => ({
    'aria-invalid': missing.includes(name),
    'aria-describedby': missing.includes(name) ? `${name}-fault` : undefined,
  });
  const fault = (name: string) =>
    missing.includes(name) && (
      <p class="fault" id={`${name}-fault`}>
        {name === 'consent' ? strings.letterConsentRequired : strings.required}
      </p>
    );
  return (
    <form
      ref={form}
      class="letter"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <h2 ref={heading} tabIndex={-1}>
        {strings.letterQuestions}
      </h2>
      <p>{strings.letterWhy}</p>
      {hasFailed && (
        <p class="alert" role="alert">
          {strings.letterNotSent}
        </p>
      )}
      {fields.map(({ name, isRequired }) => {
        const common = {
          id: name,
          name,
          required: isRequired,
          disabled: busy,
          value: answers[name],
          ...described(name),
          onInput: (event: { currentTarget: { value: string } }) =>
            setAnswers({ ...answers, [name]: event.currentTarget.value }),
        };
        return (
          <div class="field" key={name}>
            <label for={name}>{strings.letterFields[name]}</label>
            {isRequired ? <textarea rows={4} maxLength={2_000} {...common} /> : <input maxLength={200} {...common} />}
            {fault(name)}
          </div>
        );
      })}
      <div class="terms">
        <input
          type="checkbox"
          id="consent"
          required
          checked={consent}
          disabled={busy}
          {...described('consent')}
          onChange={(event) => setConsent(event.currentTarget.checked)}
        />
        <label for="consent">{strings.letterConsent}</label>
        {fault('consent')}
      </div>
      <button class="pay" type="submit" aria-disabled={busy}>
        {busy && <span class="spinner" aria-hidden="true" />}
        {strings.letterSend}
      </button>
    </form>
  );
}
