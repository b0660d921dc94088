import { isReached, type Row } from './figures.ts';

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
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((line) => line[column]?.length ?? 0)));
  const line = (texts: readonly string[]) => `| ${texts.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...cells.map(line)].join('\n');
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

function rounded(value: number): string {
  if (value >= 100) return String(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
