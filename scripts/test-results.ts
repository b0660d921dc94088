/** What one test did. */
export interface TestResult {
  readonly name: string;
  readonly durationMs: number;
}

/** What a whole run did. */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly tests: readonly TestResult[];
}

interface Report {
  readonly testResults: {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: {
      readonly fullName: string;
      readonly status: string;
      readonly duration?: number | null;
    }[];
  }[];
}

/** Reads vitest's JSON report. A file that failed before its first test (it did not load) counts as one failure. */
export function readResults(text: string): Results {
  const files = (JSON.parse(text) as Report).testResults;
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  const broken = files.filter((file) => file.status === 'failed' && !file.assertionResults.some(isFailed)).length;
  const passed = count('passed');
  const failed = count('failed');
  return {
    passed,
    failed: failed + broken,
    skipped: tests.length - passed - failed,
    tests: tests.map((test) => ({ name: test.fullName, durationMs: test.duration ?? 0 })),
  };
}

/** The `count` slowest tests, slowest first. */
export function slowest(results: Results, count: number): TestResult[] {
  return results.tests.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, count);
}

function isFailed(test: { readonly status: string }): boolean {
  return test.status === 'failed';
}
