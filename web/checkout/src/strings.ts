import { english, type Strings } from './strings-en.ts';
import { spanish } from './strings-es.ts';

export type Language = 'en' | 'es';
export type { Strings };

export const strings: Readonly<Record<Language, Strings>> = { en: english, es: spanish };

/** The browser's language, if the page speaks it. */
export function preferredLanguage(): Language {
  const known = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag === 'en' || tag === 'es');
  return known === 'es' ? 'es' : 'en';
}
