import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Font } from 'fontkit';
import { sfntOf } from './sfnt.ts';

/** A font that is embedded, as far as it is used, where the standard fonts lack a character. */
export interface EmbeddedFont {
  /** Every document opens them anew: what an open font has read changes what the next document says of its glyphs. */
  readonly bytes: Buffer;
  /** Whether it has a character. It lays out no text. */
  readonly characters: Font;
}

export type Weight = 'regular' | 'bold';

const opened = new Map<Weight, EmbeddedFont>();

/** DejaVu Sans, read with the first document that needs it: some 25 ms for each weight, and a megabyte from then on. */
export function embeddedFont(weight: Weight, create: (bytes: Uint8Array) => Font): EmbeddedFont {
  const known = opened.get(weight);
  if (known !== undefined) return known;
  const bytes = sfntOf(readFileSync(resolve(files[weight])));
  const font = { bytes, characters: create(bytes) };
  opened.set(weight, font);
  return font;
}

/** Whether a font shows a character as its readers write it: pdfkit does not order the letters of scripts that are written from right to left. */
export function shows({ characters }: EmbeddedFont, character: string): boolean {
  return written.test(character) && characters.hasGlyphForCodePoint(character.codePointAt(0) ?? 0);
}

const written =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Common}\p{Script=Inherited}]/u;

const files: Readonly<Record<Weight, string>> = {
  regular: '@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff',
  bold: '@fontsource/dejavu-sans/files/dejavu-sans-latin-700-normal.woff',
};

const { resolve } = createRequire(import.meta.url);
