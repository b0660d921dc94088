// Whether `npm ci` accepts package-lock.json, also from a registry that has every platform's packages, and checks the archive of each package by a hash.
import { boundToAHost, gapsOf, readLock, unhashedOf } from './lock-file.ts';

const lock = readLock();
const findings = [
  ...gapsOf(lock).map(({ by, name }) => `lacks ${name}, which ${by} requires; run npm run lock:complete`),
  ...unhashedOf(lock).map(({ path }) => `has no integrity for ${path}; run npm run lock:complete -- --hashes`),
  ...boundToAHost(lock).map((path) => `pins ${path} to a registry host; remove its \`resolved\``),
];
for (const finding of findings) console.error(`package-lock.json ${finding}`);
if (findings.length === 0) console.log('The lock file is complete');
process.exitCode = findings.length === 0 ? 0 : 1;
