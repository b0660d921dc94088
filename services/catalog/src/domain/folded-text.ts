/**
 * The form in which names and codes are compared: NFKC, then case folded, with outer blanks gone and inner runs of blanks as one. Upper case
 * before lower case folds what lower case alone keeps apart (ß and ss, ς and σ).
 */
export function foldedText(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\s+/gu, ' ')
    .trim()
    .replaceAll('ς', 'σ');
}
