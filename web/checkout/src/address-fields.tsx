import type { PagePayment, PageView } from '@eligo/contract';
import type { Strings } from './strings.ts';

export type Address = NonNullable<PagePayment['shipping_details']>;
export type AddressField = Exclude<keyof Address, 'country'>;

/** Health cards are issued in the United States, and so are the addresses. */
export const emptyAddress: Address = { line1: '', line2: '', city: '', state: '', postal_code: '', country: 'US' };

export function addressOf({ shipping_details: known }: PageView): Address {
  if (known === null) return emptyAddress;
  const { line1, line2, city, state, postal_code } = known;
  return {
    line1: line1 ?? '',
    line2: line2 ?? '',
    city: city ?? '',
    state: state ?? '',
    postal_code: postal_code ?? '',
    country: 'US',
  };
}

const fields: readonly (readonly [AddressField, string, boolean])[] = [
  ['line1', 'address-line1', true],
  ['line2', 'address-line2', false],
  ['city', 'address-level2', true],
  ['state', 'address-level1', true],
  ['postal_code', 'postal-code', true],
];

/** The required fields that are empty, in their order. */
export function missingIn(address: Address): AddressField[] {
  return fields.flatMap(([name, , isRequired]) => (isRequired && (address[name] ?? '').trim() === '' ? [name] : []));
}

export function AddressFields(given: {
  readonly address: Address;
  readonly missing: readonly AddressField[];
  readonly message: string | null;
  readonly disabled: boolean;
  readonly strings: Strings;
  readonly onChange: (address: Address) => void;
}) {
  const { address, missing, message, disabled, strings, onChange } = given;
  const labels: Readonly<Record<AddressField, string>> = {
    line1: strings.line1,
    line2: strings.line2,
    city: strings.city,
    state: strings.region,
    postal_code: strings.postalCode,
  };
  return (
    <fieldset disabled={disabled}>
      <legend>{strings.address}</legend>
      {message !== null && <p class="quiet">{message}</p>}
      <div class="fields">
        {fields.map(([name, autocomplete, isRequired]) => (
          <div class={`field ${name}`} key={name}>
            <label for={name}>{labels[name]}</label>
            <input
              id={name}
              name={name}
              autocomplete={`shipping ${autocomplete}`}
              required={isRequired}
              maxLength={200}
              value={address[name] ?? ''}
              aria-invalid={missing.includes(name)}
              aria-describedby={missing.includes(name) ? `${name}-fault` : undefined}
              onInput={(event) => onChange({ ...address, [name]: event.currentTarget.value })}
            />
            {missing.includes(name) && (
              <p class="fault" id={`${name}-fault`}>
                {strings.required}
              </p>
            )}
          </div>
        ))}
      </div>
      <p class="quiet">{strings.country}</p>
    </fieldset>
  );
}
