// npm test: every check, then every test in one vitest run; the ten slowest tests; and the count as the very last line.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Results, readResults, slowest } from './test-results.ts';
import { checks, runTurbo } from './turbo.ts';

const work = mkdtempSync(join(tmpdir(), 'eligo-results-'));
const resultsFile = join(work, 'results.json');
const startedAt = Date.now();

const checkCode = await runTurbo(checks);
const testCode = await runTurbo(['test:all'], {
  environment: { ELIGO_TEST_RESULTS: resultsFile },
  rest: process.argv.slice(2),
});

// A run that was interrupted has no results, whatever it exits with.
const isComplete = existsSync(resultsFile);
const testsPassed = isComplete && testCode === 0;
const tests: Results = isComplete
  ? readResults(readFileSync(resultsFile, 'utf8'))
  : { passed: 0, failed: 0, skipped: 0, tests: [] };
rmSync(work, { recursive: true, force: true });

console.log('\nThe ten slowest tests:');
for (const test of slowest(tests, 10))
  console.log(`${(test.durationMs / 1000).toFixed(1).padStart(7)} s  ${test.name}`);
console.log(
  `\nchecks ${checkCode === 0 ? 'passed' : 'FAILED'}, tests ${testsPassed ? 'passed' : 'FAILED'}, ${Math.round((Date.now() - startedAt) / 1000)} s in all`,
);

// The checks count as one; so does a run that fails though no single test does (an error outside of them, no results).
const passed = tests.passed + (checkCode === 0 ? 1 : 0);
const failed = tests.failed + (checkCode === 0 ? 0 : 1) + (!testsPassed && tests.failed === 0 ? 1 : 0);
const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
process.exitCode = failed === 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed${skipped}`);
