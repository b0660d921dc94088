import type { Language } from './strings.ts';

const locales: Readonly<Record<Language, string>> = { en: 'en-US', es: 'es-US' };

// Making one takes a slow phone longer than all amounts of a page.
const moneyFormats = new Map<Language, Intl.NumberFormat>();

export function money(language: Language, cents: number): string {
  let format = moneyFormats.get(language);
  if (format === undefined) {
    format = new Intl.NumberFormat(locales[language], { style: 'currency', currency: 'USD' });
    moneyFormats.set(language, format);
  }
  return format.format(cents / 100);
}

export function day(language: Language, unixSeconds: number): string {
  return new Intl.DateTimeFormat(locales[language], { dateStyle: 'long' }).format(unixSeconds * 1_000);
}
