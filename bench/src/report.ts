import { isReached, type Row } from './figures.ts';
import { rounded, tableText } from './table.ts';

/** The rows as a table for people. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['Operation', 'Topology', 'Measure', 'Goal', 'Ours', 'Against', 'Unit'];
  const cells = rows.map((row) => [
    row.operation,
    row.topology,
    `${rounded(row.ratio)}${isReached(row) ? '' : ' ✗'}`,
    rounded(row.goal),
    rounded(row.ours),
    row.theirs === row.goal ? row.against : `${rounded(row.theirs)} (${row.against})`,
    row.unit,
  ]);
  return tableText(head, cells);
}

/** The text of RESULTS.md. */
export function resultsText(rows: readonly Row[], machine: string, rounds: number): string {
  return `# What was measured

Written by \`npm run bench -- --write\`: ratios of one run, each the median of ${rounds} rounds in which both sides took turns. What the operations
and their goals are stands in [README.md](README.md). A cross marks what does not reach its goal.

Machine: ${machine}

${tableOf(rows)}
`;
}
