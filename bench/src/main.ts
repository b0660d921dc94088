// npm run bench: measures what Eligo does against what the machine could do, as ratios of one run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMachine } from './machine.ts';
import { NotUnderstood, readOptions } from './options.ts';
import { resultsText, tableOf } from './report.ts';
import { runBench } from './run.ts';

try {
  const options = readOptions(process.argv.slice(2));
  const rows = await runBench(options, (row) => {
    if (options.json) process.stdout.write(`${JSON.stringify(row)}\n`);
    else process.stderr.write(`measured ${row.operation}, ${row.topology}: ${row.ratio.toFixed(2)}\n`);
  });
  if (!options.json) process.stdout.write(`${describeMachine()}\n\n${tableOf(rows)}\n`);
  if (options.write) {
    const path = join(import.meta.dirname, '..', 'RESULTS.md');
    writeFileSync(path, resultsText(rows, describeMachine(), options.sizes.rounds));
  }
} catch (error) {
  const isUsage = error instanceof NotUnderstood;
  const said = error instanceof Error ? (isUsage ? error.message : (error.stack ?? error.message)) : error;
  process.stderr.write(`bench: ${said}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
