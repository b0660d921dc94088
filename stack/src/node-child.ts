import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Node's arguments for a child that stops when this process dies: its channel closes then, whatever the death. `preloads` are files of this folder that
 * the child loads as well, before its own code.
 */
export function nodeChildArguments(script: string, preloads: readonly string[] = []): string[] {
  const load = (name: string) => ['--import', pathToFileURL(join(import.meta.dirname, name)).href];
  return [...['stop-with-parent.ts', ...preloads].flatMap(load), script];
}
