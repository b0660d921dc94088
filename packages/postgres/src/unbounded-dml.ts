import { bareText } from './sql-text.ts';

/**
 * The first table of which a statement changes rows, or copies them, although its migration did not create it: how many there are, nobody knows. A migration has no
 * time limit, so in an installation with millions it holds their locks, and those of what it altered before, for minutes. Looks into `do` blocks, too.
 */
export function unboundedTable(text: string, isFresh: (table: string) => boolean): string | undefined {
  for (const bare of partsOf(text)) {
    const isCopy = copies.test(bare);
    // `for` is a loop of a `do` block over what a statement returns.
    if (!isCopy && !/^(with|update|delete|insert|merge|for)\b/.test(bare)) continue;
    const inside = new Set(
      [...bare.matchAll(/(?:\bwith (?:recursive )?|, )([\w"]+)(?: \([^()]*\))? as (?:not )?(?:materialized )?\(/g)].map(
        nameOf,
      ),
    );
    const found = [...namesAfter(bare, changed), ...(isCopy ? namesAfter(bare, read) : [])];
    const table = found.find((name) => !inside.has(name) && !isFresh(name));
    if (table !== undefined) return table;
  }
  return undefined;
}

const copies =
  /\binsert into\b.*\bselect\b|^create (?:unlogged )?(?:table|materialized view)\b.*\bas (?:select|with|table)\b/;
const name = '(?:only )?([\\w.":]+)\\b"?';
const changed = [`\\bupdate ${name}(?: (?:as )?[\\w"]+)? set\\b`, `\\bdelete from ${name}`, `\\bmerge into ${name}`];
// What is called is no table, and neither is what a value is told from.
const read = [`(?<!distinct )\\b(?:from|join) (?:lateral )?${name}(?! ?\\()`];

function namesAfter(bare: string, patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => [...bare.matchAll(new RegExp(pattern, 'g'))].map(nameOf));
}

function nameOf(match: RegExpMatchArray): string {
  return match[1] ?? '';
}

// The statement; of a `do` block, the statements in it. What it puts together as text is not seen.
function partsOf(text: string): string[] {
  const body = /^do\b[^$]*(\$\w*\$)([\s\S]*)\1/i.exec(text)?.[2];
  const bare = bareText(body ?? text)
    .replace(/\s+/g, ' ')
    .trim();
  return body === undefined ? [bare] : bare.split(/;|\b(?:begin|loop|then|else)\b/).map((part) => part.trim());
}
