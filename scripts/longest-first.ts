import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The order of the test files: those that take longest first, so that no worker ends the run alone with one of them. Without this, a clean checkout
 * begins with the files of the most bytes, and most of these are short.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/** Over twenty seconds each; the longest first. */
const longest = [
  'e2e/test/failpoints.all-in-one.test.ts',
  'e2e/test/fuzz.in-process.test.ts',
  'e2e/test/failpoints.split.test.ts',
  'e2e/test/killed-renewals.test.ts',
  'e2e/test/chaos.test.ts',
  'bench/test/bench.test.ts',
  'stack/test/dockerfile.test.ts',
  'bench/test/growth.test.ts',
  'bench/test/comparison.test.ts',
  'web/checkout/test/',
  'e2e/test/whole.split.test.ts',
  'e2e/test/whole.in-process.test.ts',
  'stack/test/',
  'growth.test.ts',
  'e2e/test/',
];

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.findIndex((path) => moduleId.includes(path));
  return rank === -1 ? longest.length : rank;
}
