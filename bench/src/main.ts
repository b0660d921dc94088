// npm run bench: measures what Eligo does against what the machine could do, as ratios of one run.
import { writeFileSync } from 'node:fs';
import { comparisonReport } from './compare/comparison-text.ts';
import { type ComparisonRow, runComparison } from './compare/run-comparison.ts';
import { measureGrowthRows } from './growth/measure-growth.ts';
import { describeMachine, describeRun } from './machine.ts';
import { NotUnderstood } from './not-understood.ts';
import { type Comparison, type Options, readOptions } from './options.ts';
import { costsTable, resultsText, tableOf } from './report.ts';
import { keepResults, type Result, readResults, resultFiles, withResult } from './results.ts';
import { runBench } from './run.ts';

try {
  const options = readOptions(process.argv.slice(2));
  if (options.compare !== undefined) await compareAll(options, options.compare);
  else if (options.growth !== undefined) {
    if (!(await measureGrowthRows({ ...options, growth: options.growth }))) process.exitCode = 1;
  } else await measureAll(options);
} catch (error) {
  const isUsage = error instanceof NotUnderstood;
  const said = error instanceof Error ? (isUsage ? error.message : (error.stack ?? error.message)) : error;
  process.stderr.write(`bench: ${said}\n`);
  process.exitCode = isUsage ? 2 : 1;
}

async function measureAll(options: Options): Promise<void> {
  const run = `${describeRun()}, ${options.sizes.rounds} rounds`;
  const rows = await runBench(options, (row) => {
    // A run that ends early keeps what it measured.
    if (options.write) writeResult({ ...row, run });
    if (options.json) process.stdout.write(`${JSON.stringify(row)}\n`);
    else process.stderr.write(`measured ${row.operation}, ${row.topology}: ${row.ratio.toFixed(2)}\n`);
  });
  if (!options.json)
    process.stdout.write(`${[describeMachine(), tableOf(rows), costsTable(rows)].filter(Boolean).join('\n\n')}\n`);
}

function writeResult(result: Result): void {
  const results = withResult(readResults(), result);
  keepResults(results);
  writeFileSync(resultFiles.read, resultsText(results));
}

async function compareAll(options: Options, comparison: Comparison): Promise<void> {
  // Before it is measured: a commit may follow meanwhile.
  const run = describeRun();
  const rows: ComparisonRow[] = [];
  await runComparison(comparison, options, (row) => {
    rows.push(row);
    if (options.json) process.stdout.write(`${JSON.stringify(row)}\n`);
    else process.stderr.write(`compared ${row.operation}, ${row.topology}: ${row.ratio.toFixed(2)}\n`);
  });
  if (options.json) return;
  process.stdout.write(`${comparisonReport(run, rows, comparison.statements)}\n`);
}
