// npm run release:proto: moves the baseline that buf breaking compares with, as a part of a release and at no other time.
// Every service that runs must understand what is released; so what would break it is refused unless --break says
// that the old peers are gone.
import { existsSync } from 'node:fs';
import { baseline, breakingChanges, lint, writeImage } from './checks/buf.ts';

const findings = [...lint('proto'), ...(existsSync(baseline) ? breakingChanges('proto') : [])];
if (findings.length > 0 && !process.argv.includes('--break')) {
  for (const finding of findings) console.error(finding);
  console.error('Baseline unchanged: the new contract would break running services.');
  process.exitCode = 1;
} else {
  writeImage('proto', baseline);
  console.log('Baseline updated from proto/. Commit proto/baseline.binpb with the release.');
}
