import { readFileSync } from 'node:fs';

/** The release of Eligo that this code is of. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
