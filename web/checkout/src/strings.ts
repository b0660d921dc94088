import type { PageView } from '@eligo/contract';
import { type Language, languageOf } from './document.ts';
import { english, type Strings } from './strings-en.ts';
import { spanish } from './strings-es.ts';

export type { Language, Strings };

export const strings: Readonly<Record<Language, Strings>> = { en: english, es: spanish };

/** How the page speaks of an invoice, of a set-up, and where it saves cards and nothing is due now, as at the beginning of a trial. */
export function stringsOf(
  language: Language,
  view: Pick<PageView, 'mode' | 'due_now'> | undefined,
  isInvoice: boolean,
): Strings {
  const all = strings[language];
  if (isInvoice) return { ...all, ...all.ofInvoice };
  const isSaved = view?.mode === 'setup' || (view?.mode === 'subscription' && view.due_now === 0);
  if (!isSaved) return all;
  const failed = { ...all.failed, ...all.failedOfSetUp };
  return { ...all, ...(view.mode === 'setup' ? all.ofSetUp : {}), ...all.ofSavedCard, failed };
}

/** The browser's language, if the page speaks it. */
export function preferredLanguage(): Language {
  return languageOf(navigator.languages);
}
