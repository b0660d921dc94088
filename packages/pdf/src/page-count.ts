import { promisify } from 'node:util';
import { inflate } from 'node:zlib';

/** Why the pages of a PDF cannot be counted. */
export type UnreadablePdf = 'encrypted' | 'unreadable';

// A file of evidence has at most 4.5 MB; more objects than these are in no document of some pages.
const mostObjects = 100_000;
/** What all compressed objects of a file may be unpacked to: a file of zeros shrinks a thousandfold. */
const mostInflatedBytes = 32_000_000;
/** Many nodes can name one list of children: so much of lists is read, all of them together. */
const mostKidsLength = 4_000_000;

/**
 * Counts the leaves of a PDF's page tree, and stops at `most` + 1. Reads objects wherever they are in the file, the last one of each number, so a
 * damaged table of contents does not matter; reads no content. One pass over the bytes, and bounded memory, whatever they are.
 */
export async function countPdfPages(bytes: Buffer, most: number): Promise<number | UnreadablePdf> {
  const text = bytes.toString('latin1');
  if (!text.slice(0, 1_024).includes('%PDF-')) return 'unreadable';
  const scanned = scanObjects(text);
  if (scanned === undefined) return 'unreadable';
  const trailers = [
    ...scanned.filter(({ dict }) => hasType(dict, 'XRef')).map(({ dict }) => dict),
    ...trailersOf(text),
  ];
  if (trailers.some((dict) => /\/Encrypt\b/.test(dict))) return 'encrypted';
  const objects = await unpacked(bytes, scanned);
  if (objects === undefined) return 'unreadable';
  const roots = trailers.flatMap((dict) => refOf(dict, 'Root') ?? []).filter((number) => objects.has(number));
  const catalogs = [...objects].filter(([, dict]) => hasType(dict, 'Catalog')).map(([number]) => number);
  const catalog = objects.get(roots.at(-1) ?? catalogs.at(-1) ?? -1);
  const pages = catalog === undefined ? undefined : refOf(catalog, 'Pages');
  if (pages === undefined) return 'unreadable';
  return leavesOf(objects, pages, most) || 'unreadable';
}

/** An object: the text before its stream or its end, and where its stream is. */
interface ScannedObject {
  readonly number: number;
  readonly dict: string;
  readonly stream: { readonly start: number; readonly end: number } | undefined;
}

const space = '[\\0\\t\\n\\f\\r ]';

// Every search goes on where the last one ended, so that all of them together pass over the text once.
function scanObjects(text: string): ScannedObject[] | undefined {
  const lengths = integersOf(text);
  const found: ScannedObject[] = [];
  const start = new RegExp(`(?<![0-9])(\\d{1,10})${space}{1,8}\\d{1,5}${space}{1,8}obj(?![A-Za-z])`, 'g');
  const nextEnd = searchOf(text, 'endobj');
  const nextStream = searchOf(text, 'stream');
  const nextStreamEnd = searchOf(text, 'endstream');
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    if (found.length === mostObjects) return undefined;
    const from = start.lastIndex;
    const end = nextEnd(from);
    const streamAt = nextStream(from);
    const hasStream = streamAt < end && /[\r\n]/.test(text[streamAt + 6] ?? '');
    const dict = text.slice(from, Math.min(hasStream ? streamAt : end, from + 1_000_000));
    const data = streamAt + (text.startsWith('\r\n', streamAt + 6) ? 8 : 7);
    const stream = hasStream ? { start: data, end: streamEnd(text, dict, data, lengths, nextStreamEnd) } : undefined;
    found.push({ number: Number(match[1]), dict, stream });
    start.lastIndex = stream === undefined ? Math.min(end, text.length) : stream.end;
  }
  return found;
}

// Its length, if the stream ends there; otherwise where the word is.
function streamEnd(
  text: string,
  dict: string,
  data: number,
  lengths: ReadonlyMap<number, number>,
  nextStreamEnd: (from: number) => number,
): number {
  const [, direct, indirect] = /\/Length\s{0,8}(?:(\d{1,10})\s{1,8}\d{1,5}\s{1,8}R|(\d{1,10}))/.exec(dict) ?? [];
  const length = direct === undefined ? Number(indirect ?? Number.NaN) : lengths.get(Number(direct));
  const end = data + (length ?? Number.NaN);
  if (/^\s{0,3}endstream/.test(text.slice(end, end + 12))) return end;
  return Math.min(nextStreamEnd(data), text.length);
}

// Objects that are a number alone, such as lengths.
function integersOf(text: string): Map<number, number> {
  const pattern = new RegExp(
    `(?<![0-9])(\\d{1,10})${space}{1,8}\\d{1,5}${space}{1,8}obj${space}{1,8}(\\d{1,10})${space}{1,8}endobj`,
    'g',
  );
  const found = new Map<number, number>();
  for (const [, number, value] of text.matchAll(pattern)) {
    if (found.size === mostObjects) break;
    found.set(Number(number), Number(value));
  }
  return found;
}

/** Where a word occurs next, from places that only grow; the largest safe integer where it does not. */
function searchOf(text: string, word: string): (from: number) => number {
  let at = text.indexOf(word);
  return (from) => {
    if (at !== -1 && at < from) at = text.indexOf(word, from);
    return at === -1 ? Number.MAX_SAFE_INTEGER : at;
  };
}

function trailersOf(text: string): string[] {
  const found: string[] = [];
  const next = searchOf(text, 'trailer');
  for (let at = next(0); at < text.length && found.length < 1_000; at = next(at + 7)) {
    found.push(text.slice(at, at + 4_096).split('startxref')[0] ?? '');
  }
  return found;
}

// By number, the last one in the file; those in object streams are where their stream is.
async function unpacked(bytes: Buffer, scanned: readonly ScannedObject[]): Promise<Map<number, string> | undefined> {
  const objects = new Map<number, string>();
  let left = mostInflatedBytes;
  for (const { number, dict, stream } of scanned) {
    objects.set(number, dict);
    if (stream === undefined || !hasType(dict, 'ObjStm')) continue;
    const content = await contentOf(bytes.subarray(stream.start, stream.end), dict, left);
    if (content === undefined) return undefined;
    left -= content.length;
    const text = content.toString('latin1');
    const first = Number(/\/First\s{0,8}(\d{1,10})/.exec(dict)?.[1] ?? text.length);
    const header = (text.slice(0, first).match(/\d{1,10}/g) ?? []).map(Number);
    for (let at = 0; at + 1 < header.length; at += 2) {
      const [from = 0, to = text.length - first] = [header[at + 1], header[at + 3]];
      // In their order, so that no text is read twice.
      if (to < from || objects.size > mostObjects) return undefined;
      objects.set(header[at] ?? 0, text.slice(first + from, first + to));
    }
  }
  return objects;
}

async function contentOf(data: Buffer, dict: string, most: number): Promise<Buffer | undefined> {
  if (!/\/Filter\b/.test(dict)) return data;
  if (!/\/Filter\s{0,8}\[?\s{0,8}\/(FlateDecode|Fl)\b/.test(dict) || most <= 0) return undefined;
  try {
    // On a thread of Node's pool; ends at the bound.
    return await promisify(inflate)(data, { maxOutputLength: most });
  } catch {
    // Damaged, or beyond the bound: the same to the caller.
    return undefined;
  }
}

function leavesOf(objects: ReadonlyMap<number, string>, pages: number, most: number): number {
  const seen = new Set<number>();
  const open = [pages];
  let leaves = 0;
  let left = mostKidsLength;
  for (let number = open.pop(); number !== undefined && leaves <= most; number = open.pop()) {
    const dict = objects.get(number);
    if (dict === undefined || seen.has(number)) continue;
    seen.add(number);
    const isPage = hasType(dict, 'Page');
    const kids = isPage ? undefined : kidsOf(objects, dict);
    if (kids !== undefined) {
      left -= kids.length;
      if (left < 0) return 0;
      for (const [ref] of kids.matchAll(/\d{1,10}\s{1,8}\d{1,5}\s{1,8}R/g)) open.push(Number.parseInt(ref, 10));
    } else if (isPage || !hasType(dict, 'Pages')) leaves += 1;
  }
  return leaves;
}

function kidsOf(objects: ReadonlyMap<number, string>, dict: string): string | undefined {
  const indirect = refOf(dict, 'Kids');
  return indirect === undefined ? /\/Kids\s{0,8}\[([^\]]*)/.exec(dict)?.[1] : objects.get(indirect);
}

function refOf(dict: string, key: string): number | undefined {
  const found = new RegExp(`/${key}\\s{0,8}(\\d{1,10})\\s{1,8}\\d{1,5}\\s{1,8}R`).exec(dict)?.[1];
  return found === undefined ? undefined : Number(found);
}

function hasType(dict: string, type: string): boolean {
  return new RegExp(`/Type\\s{0,8}/${type}(?![A-Za-z])`).test(dict);
}
