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
