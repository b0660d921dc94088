/**
 * A line for a terminal, with each character that a terminal acts on rather than shows as an escape: a shopper's text must not move the cursor, begin a line of its
 * own, or turn the order of what stands beside it around.
 */
export function visibleLine(line: string): string {
  return line.replaceAll(acted, escaped);
}

/** JSON for a terminal or a program: the same text. JSON escapes most of these characters, but not all. */
export function visibleJson(json: string): string {
  return json.replaceAll(acted, escaped);
}

// Control characters (C0 and C1), line and paragraph separators, marks and overrides of direction, and what has no width.
const acted = /[\p{Cc}\u2028\u2029\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
