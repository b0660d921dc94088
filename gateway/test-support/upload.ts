import type { Route } from '@eligo/contract';
import fc from 'fast-check';
import { type ExampleReferences, exampleBody } from './example-bodies.ts';

/** A body as it is sent, with the headers that say what it is. */
export interface Content {
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
  readonly headers: Record<string, string>;
}

/** A small file that is what it says. */
const smallPdf: Uint8Array<ArrayBuffer> = new Uint8Array(Buffer.from('%PDF-1.4\n%%EOF\n'));

/** What a route accepts: JSON, or a form with a file. */
export function exampleContent(route: Route, refs: ExampleReferences): Content {
  if (route.body?.file === undefined) {
    const body = exampleBody(route, refs);
    return { body: body === undefined ? undefined : JSON.stringify(body), headers: {} };
  }
  return exampleForm(route.body.file);
}

/** A form with a small file, which is accepted. */
export function exampleForm(file: string) {
  return form([
    { name: 'purpose', content: 'dispute_evidence' },
    { name: file, filename: 'receipt.pdf', type: 'application/pdf', content: smallPdf },
  ]);
}

/** One part of a form. */
export interface Part {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly filename?: string;
  readonly type?: string;
}

interface FormContent extends Content {
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A multipart/form-data body, as clients write it. */
export function form(parts: readonly Part[], boundary = 'eligo-boundary'): FormContent {
  const pieces = parts.flatMap(({ name, filename, type, content }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename.replaceAll('"', '%22')}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    content,
    '\r\n',
  ]);
  const bytes = [...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece));
  return {
    body: new Uint8Array(Buffer.concat(bytes)),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

/** Forms as a client may send them, good ones among them, and bytes that are none. */
export function arbitraryForm(): fc.Arbitrary<Content> {
  const contents = fc.constantFrom<(string | Uint8Array)[]>(
    smallPdf,
    '',
    'plain text',
    '\r\n--eligo-boundary',
    'x'.repeat(2_000),
  );
  const part = fc.record(
    {
      name: fc.constantFrom('file', 'purpose', 'expires_at', '__proto__', 'a b'),
      content: fc.oneof(contents, fc.constantFrom('dispute_evidence', '2027-01-01', '4242424242424242', '\u0000')),
      filename: fc.constantFrom('receipt.pdf', '../../etc/passwd', 'ü.png', '\\', ''),
      type: fc.constantFrom('application/pdf', 'image/png', 'text/html', ''),
    },
    { requiredKeys: ['name', 'content'] },
  );
  const good = fc.constant(
    form([
      { name: 'file', filename: 'receipt.pdf', content: smallPdf },
      { name: 'purpose', content: 'dispute_evidence' },
    ]),
  );
  const cut = fc.tuple(fc.array(part, { maxLength: 4 }), fc.nat(200)).map(([parts, missing]) => {
    const { body, headers } = form(parts);
    return { body: body.slice(0, Math.max(0, body.length - missing)), headers };
  });
  return fc.oneof(
    { arbitrary: good, weight: 2 },
    { arbitrary: fc.array(part, { maxLength: 4 }).map((parts) => form(parts)), weight: 6 },
    { arbitrary: cut, weight: 3 },
  );
}
