import type { PagePayment, PageView } from '@eligo/contract';
import type { Language, Strings } from './strings.ts';

export type Address = NonNullable<PagePayment['shipping_details']>;
export type AddressField = Exclude<keyof Address, 'country'>;

export function addressOf({ shipping_details: known, shipping_countries: countries }: PageView): Address {
  const { line1, line2, city, state, postal_code, country } = known ?? {};
  return {
    line1: line1 ?? '',
    line2: line2 ?? '',
    city: city ?? '',
    state: state ?? '',
    postal_code: postal_code ?? '',
    country: countries.find((code) => code === country) ?? countries[0] ?? 'US',
  };
}

const fields: readonly (readonly [AddressField, string])[] = [
  ['line1', 'address-line1'],
  ['line2', 'address-line2'],
  ['city', 'address-level2'],
  ['state', 'address-level1'],
  ['postal_code', 'postal-code'],
];

// Not every country has states or postal codes.
function isRequired(name: AddressField, { country }: Address): boolean {
  return name === 'line1' || name === 'city' || (name !== 'line2' && country === 'US');
}

/** The required fields that are empty, in their order. */
export function missingIn(address: Address): AddressField[] {
  return fields.flatMap(([name]) => (isRequired(name, address) && (address[name] ?? '').trim() === '' ? [name] : []));
}

export function AddressFields(given: {
  readonly address: Address;
  readonly missing: readonly AddressField[];
  readonly message: string | null;
  readonly disabled: boolean;
  readonly countries: readonly string[];
  readonly language: Language;
  readonly strings: Strings;
  readonly onChange: (address: Address) => void;
}) {
  const { address, missing, message, disabled, countries, language, strings, onChange } = given;
  const isUs = address.country === 'US';
  const names = new Intl.DisplayNames(language, { type: 'region' });
  const named = countries
    .map((code) => ({ code, name: names.of(code) ?? code }))
    .sort((one, other) => one.name.localeCompare(other.name, language));
  const labels: Readonly<Record<AddressField, string>> = {
    line1: strings.line1,
    line2: strings.line2,
    city: strings.city,
    state: isUs ? strings.region : strings.anyRegion,
    postal_code: isUs ? strings.postalCode : strings.anyPostalCode,
  };
  return (
    <fieldset disabled={disabled}>
      <legend>{strings.address}</legend>
      {message !== null && <p class="quiet">{message}</p>}
      <div class="fields">
        {named.length > 1 && (
          <div class="field country">
            <label for="country">{strings.country}</label>
            <select
              id="country"
              name="country"
              autocomplete="shipping country"
              value={address.country}
              onChange={(event) => onChange({ ...address, country: event.currentTarget.value })}
            >
              {named.map(({ code, name }) => (
                <option key={code} value={code}>
                  {name}
                </option>
              ))}
            </select>
          </div>
        )}
        {fields.map(([name, autocomplete]) => (
          <div class={`field ${name}`} key={name}>
            <label for={name}>{labels[name]}</label>
            <input
              id={name}
              name={name}
              autocomplete={`shipping ${autocomplete}`}
              required={isRequired(name, address)}
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
      {named.length === 1 && <p class="quiet">{named[0]?.name}</p>}
    </fieldset>
  );
}
