// Whether `npm ci` will take package-lock.json, also from a registry that has every platform's packages.
import { gapsOf, readLock } from './lock-file.ts';

const gaps = gapsOf(readLock());
for (const { by, name } of gaps) console.error(`package-lock.json does not have ${name}, which ${by} names`);
console.log(gaps.length === 0 ? 'the lock file is complete' : 'npm run lock:complete adds what is missing');
process.exitCode = gaps.length === 0 ? 0 : 1;
