import { describeMachine, describeRun } from '../machine.ts';
import type { Options } from '../options.ts';
import { growthText } from './growth-text.ts';
import { forgetRecords, type GrowthFiles, growthFiles, keepFailure, keepRow } from './kept-growth.ts';
import { outcomeOf } from './outcome.ts';
import { runGrowth } from './run-growth.ts';

/** Measures growth in each topology and tells it; with `--write` each row is kept as it comes, whatever becomes of the run. Answers whether all could be measured. */
export async function measureGrowthRows(
  options: Pick<Options, 'json' | 'write' | 'topologies'> & { readonly growth: NonNullable<Options['growth']> },
  { files = growthFiles, measure = runGrowth }: { files?: GrowthFiles; measure?: typeof runGrowth } = {},
): Promise<boolean> {
  const { growth, json, write } = options;
  const run = runOf(growth);
  let isWhole = true;
  for (const topology of options.topologies) {
    if (write) forgetRecords(files, topology);
    const report = await measure(
      { ...growth, topology },
      {
        onRow(row) {
          if (write) keepRow(files, row, { topology, run });
          if (json) process.stdout.write(`${JSON.stringify({ topology, ...row, outcome: outcomeOf(row) })}\n`);
          else
            process.stderr.write(
              `measured ${row.name}, ${row.part}: ${row.ratio.toFixed(2)} ± ${row.within?.toFixed(2) ?? 0}, ${outcomeOf(row)}\n`,
            );
        },
        onFailure(failure) {
          if (write) keepFailure(files, failure, { topology, run });
          process.stderr.write(`bench: ${failure.name}: ${failure.why}\n`);
        },
      },
    );
    if (!json) process.stdout.write(`${describeMachine()}, ${topology}\n\n${growthText(report)}\n`);
    if (report.failures.length > 0) isWhole = false;
  }
  return isWhole;
}

function runOf({ records, rounds }: NonNullable<Options['growth']>): string {
  const [few, many] = records.map((count) => count.toLocaleString('en-US'));
  const [fewest, most] = rounds;
  return `${describeRun()}, ${few} and ${many} records, ${fewest === most ? fewest : `${fewest} to ${most}`} rounds`;
}
