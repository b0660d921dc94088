import { Failure } from '@eligo/failures';
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

/** A color as six hexadecimal digits, in lower case. */
export function checkColor(text: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(text))
    throw Failure.invalid(['accent_color'], 'invalid_value', 'Must be a color such as #0a7d5c');
  return text.toLowerCase();
}
