import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../src/home.ts';

/** A part of a page below docs/, from one text to the next. */
export function documentedText(page: string, from: string, to: string): string {
  const text = readFileSync(join(repositoryRoot, 'docs', page), 'utf8');
  const start = text.indexOf(from);
  const end = text.indexOf(to, start);
  if (start === -1 || end === -1) throw new Error(`docs/${page} has no part from "${from}" to "${to}"`);
  return text.slice(start, end);
}

/** The blocks of code in such a part; each is its lines. */
export function documentedBlocks(page: string, from: string, to: string): string[][] {
  return documentedText(page, from, to)
    .split(/\n(?! {4}|\n)/)
    .map((part) => part.split('\n').flatMap((line) => (line.startsWith('    ') ? [line.slice(4)] : [])))
    .filter((lines) => lines.length > 0);
}
