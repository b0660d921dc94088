import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FailureCode } from '@eligo/failures';
import { refusalHtml } from './write-first-view.ts';

/** A file of the built page. */
export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
}

/** The files that the build made of web/checkout, read when the first page is asked for: a gateway without shoppers does not hold them. */
export interface PageFiles {
  /** The document of the page. */
  document(): Promise<PageFile>;
  /** The document with more at the end of its body. */
  documentWith(html: string): Promise<PageFile>;
  /** The document that says a refusal. Made once for each code: who comes too often costs no work. */
  refusalDocument(code: FailureCode): Promise<PageFile>;
  /** A script, style sheet or icon by its hashed name. */
  asset(name: string): Promise<PageFile | undefined>;
}

const folder = new URL('../../../web/checkout/dist/', import.meta.url);

export function openPageFiles(): PageFiles {
  let loading: Promise<ReadonlyMap<string, PageFile>> | undefined;
  const refusals = new Map<FailureCode, Promise<PageFile>>();
  const files = () => {
    loading ??= load();
    return loading;
  };
  return {
    async document() {
      const document = (await files()).get('index.html');
      if (document === undefined) throw new Error('The build of web/checkout has no index.html');
      return document;
    },
    async documentWith(html) {
      const { type, bytes } = await this.document();
      const whole = Buffer.from(bytes.toString().replace('</body>', () => `  ${html}\n  </body>`));
      // At the level that costs least: it is compressed for this visit alone.
      return { type, bytes: whole, gzipped: await compress(whole, { level: 1 }) };
    },
    refusalDocument(code) {
      const known = refusals.get(code) ?? this.documentWith(refusalHtml(code));
      refusals.set(code, known);
      return known;
    },
    asset: async (name) => (await files()).get(`assets/${name}`),
  };
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};
const compress = promisify(gzip);

async function load(): Promise<ReadonlyMap<string, PageFile>> {
  const names = ['index.html', ...readdirSync(new URL('assets/', folder)).map((name) => `assets/${name}`)];
  const read = names.map(async (name): Promise<[string, PageFile][]> => {
    const type = types[name.slice(name.lastIndexOf('.') + 1)];
    if (type === undefined) return [];
    const bytes = readFileSync(new URL(name, folder));
    return [[name, { type, bytes, gzipped: await compress(bytes, { level: 9 }) }]];
  });
  return new Map((await Promise.all(read)).flat());
}
