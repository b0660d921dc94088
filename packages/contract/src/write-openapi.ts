import { writeFileSync } from 'node:fs';
import { openapi } from './openapi.ts';

// The description as it is committed, so that a change of the contract shows in review.
writeFileSync(new URL('../../../docs/openapi.json', import.meta.url), `${JSON.stringify(openapi(), null, 2)}\n`);
