import { type FileType, mediaTypes } from '@eligo/values';

/** What a file is, by how its content begins; undefined for any other content. */
export function fileTypeOf(begins: Buffer): FileType | undefined {
  return signatures.find(({ bytes }) => begins.subarray(0, bytes.length).equals(bytes))?.type;
}

/** Whether a part that declares this media type may have this content. A form's default, `text/plain`, declares nothing: the content alone counts. */
export function isDeclaredAs(declared: string, type: FileType): boolean {
  return openTypes.has(declared) || (aliases[declared] ?? declared) === mediaTypes[type];
}

const signatures = [
  { type: 'pdf', bytes: Buffer.from('%PDF-') },
  { type: 'png', bytes: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) },
  { type: 'jpeg', bytes: Buffer.from([0xff, 0xd8, 0xff]) },
] as const;

const openTypes = new Set(['text/plain', 'application/octet-stream', 'binary/octet-stream']);
const aliases: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg', 'application/x-pdf': 'application/pdf' };
