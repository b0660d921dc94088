import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Home, readJsonFile } from '../home.ts';
import { outsideFolder } from './place.ts';

/** Removes a home with all that belongs to it, also what lies outside. Nothing may run in it any more. */
export function removeHome(home: Home): void {
  const outside = readJsonFile(join(home.root, 'outside.json')) as { id: string } | undefined;
  if (outside) rmSync(join(outsideFolder, outside.id), { recursive: true, force: true });
  rmSync(home.root, { recursive: true, force: true });
}
