import { quotesOf, type Section } from './rule.ts';
import { flat } from './sentences.ts';

/** What is wrong between a section's sentences and its rules: words that no rule quotes, and quotes that do not stand there. */
export function gapsIn(section: Section, sentences: readonly string[]): string[] {
  const place = `${section.document}, ${section.heading}`;
  const quotes = section.rules.flatMap(quotesOf).map(flat);
  const strays = quotes
    .filter((quote) => !sentences.some((sentence) => sentence.includes(quote)))
    .map((quote) => `${place}: no sentence has the words "${quote}"`);
  if (section.partial) return strays;
  const silent = sentences.flatMap((sentence) => {
    const rest = unquoted(sentence, quotes);
    return rest === '' ? [] : [`${place}: no rule quotes "${rest}" of "${sentence}"`];
  });
  return [...strays, ...silent];
}

// The words that no quote covers, in their order.
function unquoted(sentence: string, quotes: readonly string[]): string {
  const covered = new Uint8Array(sentence.length);
  for (const quote of quotes) {
    for (let at = sentence.indexOf(quote); at !== -1; at = sentence.indexOf(quote, at + 1)) {
      covered.fill(1, at, at + quote.length);
    }
  }
  const rest = sentence
    .split('')
    .map((letter, index) => (covered[index] === 1 ? ' ' : letter))
    .join('');
  return /[\p{L}\p{N}]/u.test(rest) ? flat(rest) : '';
}
