// The programs that Eligo runs as processes of their own. Built, each is a few large files: a process that loads them starts in a third of the processor
// time that two thousand small ones take.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The entry file of each program, from the root of the repository. */
export const programs = {
  billing: 'services/billing/src/main.ts',
  catalog: 'services/catalog/src/main.ts',
  checkout: 'services/checkout/src/main.ts',
  refunds: 'services/refunds/src/main.ts',
  webhooks: 'services/webhooks/src/main.ts',
  gateway: 'gateway/src/main.ts',
  sandbox: 'sandbox/src/main.ts',
  stack: 'stack/src/main.ts',
  prepare: 'stack/src/prepare-main.ts',
  cli: 'cli/src/main.ts',
};

/** Where the built programs are, from the root of the repository. */
export const builtFolder = 'dist';

/** The file to run for a program: the built one, or its source where nothing is built, as in an image. */
export function programFile(root, name) {
  const built = join(root, builtFolder, `${name}.js`);
  return existsSync(built) ? built : join(root, programs[name]);
}
