import { topologies } from '../figures.ts';
import { rounded, tableText } from '../table.ts';
import { notMeasured } from './cases.ts';
import { growthExceptions } from './exceptions.ts';
import { type GrowthOutcome, outcomeOf } from './outcome.ts';
import type { GrowthReport, GrowthRow, KeptGrowth } from './row.ts';

/** The rows as a table for people, each marked with what it says; then what could not be measured, and what is not. */
export function growthText({ rows, failures, notMeasured: reasons }: GrowthReport): string {
  return [
    tableText(head, rows.map(cellsOf)),
    outcomesText(rows),
    ...failures.map(({ name, why }) => `FAILED ${name}: ${why}`),
    ...rows.flatMap(({ name, grown = [] }) => grown.map((most) => `grown in ${name}: ${most}`)),
    ...exceptionsOf(rows),
    ...Object.entries(reasons).map(([name, why]) => `not measured: ${name}: ${why}`),
  ].join('\n');
}

const head = ['Operation', 'Of', 'Large ÷ small', '±', 'Goal', 'Small', 'Large', 'Blocks', 'Rows'];

const marks: Readonly<Record<GrowthOutcome, string>> = { within: '', over: ' ✗', undecided: ' ?', excepted: ' *' };

function cellsOf(row: GrowthRow): string[] {
  return [
    ...[row.name, row.part, `${rounded(row.ratio)}${marks[outcomeOf(row)]}`],
    ...[row.within === undefined ? '' : rounded(row.within), rounded(row.goal)],
    ...[row.small, row.large].map((cost) =>
      row.part === 'Postgres rows' ? String(Math.round(cost)) : `${cost.toFixed(3)} ms`,
    ),
    ...[row.reads?.blocks, row.reads?.rows].map((both) => both?.map((one) => one.toFixed(1)).join(', ') ?? ''),
  ];
}

function outcomesText(rows: readonly GrowthRow[]): string {
  const outcomes = rows.map(outcomeOf);
  const count = (outcome: GrowthOutcome) => outcomes.filter((one) => one === outcome).length;
  return `Of ${rows.length} rows ${count('within')} are within their goal, ${count('over')} over it (✗), ${count('undecided')} undecided (?) and ${count('excepted')} over it for a stated reason (*).`;
}

function exceptionsOf(rows: readonly GrowthRow[]): string[] {
  return Object.entries(growthExceptions)
    .filter(([name]) => rows.some((row) => row.name === name))
    .map(([name, { reason }]) => `exception: ${name}: ${reason}`);
}

/** The document beside the bench: the notes as they are, and the rows of all runs by topology. */
export function growthDocument({ rows, failures }: KeptGrowth, notes: string): string {
  const runs = [...new Set([...rows, ...failures].map(({ run }) => run))];
  const numberOf = (run: string) => String(runs.indexOf(run) + 1);
  const parts = topologies.map((topology) => {
    const own = rows.filter((row) => row.topology === topology);
    const failed = failures.filter((failure) => failure.topology === topology);
    if (own.length + failed.length === 0) return `## ${topology}\n\nNot measured yet.`;
    return [
      `## ${topology}\n\n${outcomesText(own)}`,
      tableText(
        [...head, 'Run'],
        own.map((row) => [...cellsOf(row), numberOf(row.run)]),
      ),
      ...failed.map(({ name, why, run }) => `- FAILED ${name}: ${why} (run ${numberOf(run)})`),
      ...own.flatMap(({ name, grown = [] }) => grown.map((most) => `- grown in ${name}: ${most}`)),
    ].join('\n\n');
  });
  const reasons = [
    ...exceptionsOf(rows),
    ...Object.entries(notMeasured).map(([name, why]) => `not measured: ${name}: ${why}`),
  ];
  return `# What grows with the account

Written by \`npm run bench -- --only growth --write\` from \`growth.json\`, which keeps the rows, and \`growth-notes.md\`, which has the notes: what an operation costs in the
large account by what it costs in the small one. [README.md](README.md#growth) says how it is measured. A run replaces the rows that it measures, each as it comes, and each
row names its run.

- ✗: certainly over its goal.
- ?: undecided. \`±\` reaches across the goal after the most rounds that the run allowed; the row has not passed.
- \\*: over its goal for the reason that stands below, and no further than that explains.

${runs.map((run, index) => `${index + 1}. ${run}`).join('\n')}

${[notes.trim(), ...parts, `## Exceptions, and what has no row\n\n${reasons.map((reason) => `- ${reason}`).join('\n')}`].filter(Boolean).join('\n\n')}
`;
}
