import { expect, it } from 'vitest';
import { readResults, slowest } from '../test-results.ts';

const report = JSON.stringify({
  testResults: [
    {
      name: 'a.test.ts',
      status: 'failed',
      assertionResults: [
        { fullName: 'a one', status: 'passed', duration: 5 },
        { fullName: 'a two', status: 'failed', duration: 50 },
        { fullName: 'a three', status: 'skipped' },
      ],
    },
    { name: 'does-not-load.test.ts', status: 'failed', assertionResults: [] },
  ],
});

it('counts a file that did not load as one failure', () => {
  expect(readResults(report)).toMatchObject({ passed: 1, failed: 2, skipped: 1 });
});

it('names the slowest tests, slowest first', () => {
  expect(slowest(readResults(report), 2).map(({ name }) => name)).toEqual(['a two', 'a one']);
});
