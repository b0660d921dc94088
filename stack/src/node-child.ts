import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Node's arguments for a child that stops when this process dies: its channel closes then, whatever the death. */
export function nodeChildArguments(script: string): string[] {
  return ['--import', pathToFileURL(join(import.meta.dirname, 'stop-with-parent.ts')).href, script];
}
