import { Failure } from '@eligo/failures';
import { timeZoneNamed } from '@eligo/values';
import { type AccountFeature, isAccountFeature } from './features.ts';

/** A name that can be shown on one line. */
export function checkName(name: string): string {
  const trimmed = name.trim();
  if (trimmed.length < 1 || trimmed.length > 200)
    throw Failure.invalid(['name'], 'too_long', 'Needs 1 to 200 characters');
  return trimmed;
}

/** Features that exist, each once, in a fixed order. */
export function checkFeatures(features: readonly string[]): AccountFeature[] {
  const known = features.filter(isAccountFeature);
  if (known.length !== features.length) throw Failure.invalid(['features'], 'unknown_feature', 'No such feature');
  return [...new Set(known)].sort();
}

/** A logo that the browsers of shoppers load: https, and never a page's own address. */
export function checkLogoUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.href.length > 2_048)
    throw Failure.invalid(['logo_url'], 'invalid_url', 'Must be an https URL');
  return url.href;
}

/** The key of live card fields. A test key would show fields that make no live cards, and a secret key must never reach a browser. */
export function checkPublishableKey(text: string): string {
  if (/^pk_live_[0-9A-Za-z_]{10,240}$/.test(text)) return text;
  const why = text.startsWith('pk_test_')
    ? 'This is a test key; live checkout pages need one that begins with pk_live_'
    : 'Must be a publishable key of Stripe, which begins with pk_live_';
  throw Failure.invalid(['publishable_key'], 'invalid_value', why);
}

/** Cents that a session takes for the review of its letters; the table has the same bound. */
export function checkLetterFee(feeCents: number): number {
  if (!Number.isInteger(feeCents) || feeCents < 0 || feeCents > 99_999)
    throw Failure.invalid(['letter_fee'], 'invalid_value', 'Must be whole cents, 0 to 99999');
  return feeCents;
}

/** A time zone by its IANA name, as it is kept. */
export function checkTimeZone(name: string): string {
  const known = timeZoneNamed(name.trim());
  if (known !== undefined) return known;
  throw Failure.invalid(['time_zone'], 'invalid_value', 'Must be an IANA time zone such as America/New_York');
}

/** A color as six hexadecimal digits, in lower case. */
export function checkColor(text: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(text))
    throw Failure.invalid(['accent_color'], 'invalid_value', 'Must be a color such as #0a7d5c');
  return text.toLowerCase();
}

/** Countries that exist, each once, as the table keeps them: at most as many as it takes. */
export function checkCountries(codes: readonly string[]): string {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const known = [...new Set(codes.map((code) => code.trim().toUpperCase()))];
  const areCountries = known.every((code) => /^[A-Z]{2}$/.test(code) && names.of(code) !== undefined);
  if (areCountries && known.length > 0 && known.length <= 250) return known.join(',');
  throw Failure.invalid(['shipping_countries'], 'invalid_value', 'Must be country codes of two letters, such as US,CA');
}
