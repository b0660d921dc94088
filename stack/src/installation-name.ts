import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Home, writePrivateFile } from './home.ts';

/** The name that a home gives its installation in a Postgres that it does not start itself: made once, so that no two homes have the same. */
export function installationNameOf(home: Home): string {
  const path = join(home.root, 'installation');
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const name = `h${randomBytes(5).toString('hex')}`;
  writePrivateFile(path, `${name}\n`);
  return name;
}
