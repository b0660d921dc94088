import { describeRun } from '../machine.ts';
import { rounded, tableText } from '../table.ts';
import { type GrowthReport, type GrowthRow, grows } from './row.ts';

/** The rows as a table for people, those that grow marked; then what could not be measured, and what is not. */
export function growthText({ rows, failures, notMeasured }: GrowthReport): string {
  const head = ['Operation', 'Of', 'Large ÷ small', '±', 'Goal', 'Small', 'Large', 'Blocks', 'Rows'];
  const line = (row: GrowthRow) => [
    ...[row.name, row.part, `${rounded(row.ratio)}${grows(row) ? ' ✗' : ''}`],
    ...[row.within === undefined ? '' : rounded(row.within), rounded(row.goal)],
    ...[row.small, row.large].map((cost) =>
      row.part === 'Postgres rows' ? String(Math.round(cost)) : `${cost.toFixed(3)} ms`,
    ),
    ...[row.reads?.blocks, row.reads?.rows].map((both) => both?.map((one) => one.toFixed(1)).join(', ') ?? ''),
  ];
  return [
    tableText(head, rows.map(line)),
    ...failures.map((failure) => `FAILED ${failure}`),
    ...rows.flatMap(({ name, grown = [] }) => grown.map((most) => `grown in ${name}: ${most}`)),
    ...Object.entries(notMeasured).map(([name, why]) => `not measured: ${name}: ${why}`),
  ].join('\n');
}

/** The table that is kept beside the bench, of an account of so many records. */
export function growthDocument(report: GrowthReport, topology: string, [few, many]: readonly [number, number]): string {
  const over = report.rows.filter(grows);
  const count = (records: number) => records.toLocaleString('en-US');
  return `# What grows with the account

Written by \`npm run bench -- --only growth --write\`: what an operation costs in an account of ${count(many)} records of each kind, by what it costs in
one of ${count(few)}. [README.md](README.md#growth) says how it is measured. A cross marks a row past its goal: ${over.length} of ${report.rows.length}.

Measured on ${describeRun()}, ${topology}

${growthText(report).replace(/\n(?!\|)/g, '\n\n- ')}
`;
}
