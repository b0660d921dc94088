// Whether `npm ci` will take package-lock.json, also from a registry that has every platform's packages.
import { gapsOf, readLock } from './lock-file.ts';

const gaps = gapsOf(readLock());
for (const { by, name } of gaps) console.error(`package-lock.json lacks ${name}, which ${by} requires`);
console.log(gaps.length === 0 ? 'The lock file is complete' : 'run npm run lock:complete to add the missing packages');
process.exitCode = gaps.length === 0 ? 0 : 1;
