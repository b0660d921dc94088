// Builds the programs of the repository that this file is in, as an image does.
import { join } from 'node:path';
import { buildPrograms } from './build-programs.mjs';

await buildPrograms(join(import.meta.dirname, '..', '..'));
