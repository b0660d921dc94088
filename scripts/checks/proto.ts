// buf lint, and buf breaking against the released baseline.
import { breakingChanges, lint } from './buf.ts';

const findings = [...lint('proto'), ...breakingChanges('proto')];
for (const finding of findings) console.error(finding);
console.log(
  findings.length === 0
    ? 'The internal contracts are well formed and backward compatible'
    : `${findings.length} findings`,
);
process.exitCode = findings.length === 0 ? 0 : 1;
