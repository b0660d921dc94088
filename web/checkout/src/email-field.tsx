import type { Strings } from './strings.ts';

/** What is wrong with a typed e-mail address. */
export type EmailFault = 'missing' | 'wrong';

/** What is wrong with what was typed; undefined for an address. The gateway judges by the same form. */
export function emailFault(typed: string): EmailFault | undefined {
  const email = typed.trim();
  if (email === '') return 'missing';
  return /^[^\s@]+@[^\s@]+$/.test(email) ? undefined : 'wrong';
}

/** Asks where the receipt goes, for a shopper of whom the shop gave no address. */
export function EmailField(given: {
  readonly email: string;
  readonly fault: EmailFault | undefined;
  readonly isForRenewals: boolean;
  readonly disabled: boolean;
  readonly strings: Strings;
  readonly onChange: (email: string) => void;
}) {
  const { email, fault, isForRenewals, disabled, strings, onChange } = given;
  return (
    <div class="field email">
      <label for="email">{strings.email}</label>
      <input
        id="email"
        name="email"
        type="email"
        autocomplete="email"
        required
        maxLength={320}
        disabled={disabled}
        value={email}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? 'email-use' : 'email-fault email-use'}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {fault !== undefined && (
        <p class="fault" id="email-fault">
          {fault === 'missing' ? strings.required : strings.emailWrong}
        </p>
      )}
      <p class="quiet" id="email-use">
        {isForRenewals ? strings.emailForRenewals : strings.emailForReceipt}
      </p>
    </div>
  );
}
