import { type Language, languageOf } from './document.ts';
import { english, type Strings } from './strings-en.ts';
import { spanish } from './strings-es.ts';

export type { Language, Strings };

export const strings: Readonly<Record<Language, Strings>> = { en: english, es: spanish };

/** The browser's language, if the page speaks it. */
export function preferredLanguage(): Language {
  return languageOf(navigator.languages);
}
