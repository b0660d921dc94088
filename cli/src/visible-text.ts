/**
 * A line of text or JSON for a terminal, with each character that a terminal acts on rather than shows as an escape: a shopper's text must not move the cursor, begin a line of its
 * own, or turn the order of what stands beside it around. JSON stays the same JSON: it escapes most of these characters itself, but not all.
 */
export function visibleLine(line: string): string {
  return line.replaceAll(acted, escaped);
}

// Control characters (C0 and C1), line and paragraph separators, marks and overrides of direction, and what has no width.
const acted = /[\p{Cc}\u2028\u2029\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
