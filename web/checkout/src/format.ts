import type { Language } from './strings.ts';

const locales: Readonly<Record<Language, string>> = { en: 'en-US', es: 'es-US' };

export function money(language: Language, cents: number): string {
  return new Intl.NumberFormat(locales[language], { style: 'currency', currency: 'USD' }).format(cents / 100);
}

export function day(language: Language, unixSeconds: number): string {
  return new Intl.DateTimeFormat(locales[language], { dateStyle: 'long' }).format(unixSeconds * 1_000);
}
