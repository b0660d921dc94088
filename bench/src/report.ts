import type { ProcessorTime } from './costs/processor-time.ts';
import { ownTime, serverGroups } from './costs/stack-groups.ts';
import { isReached, type Row } from './figures.ts';
import type { Result } from './results.ts';
import { rounded, tableText } from './table.ts';

/** The rows as a table for people. */
export function tableOf(rows: readonly Row[]): string {
  return tableText(headOfRows, rows.map(cellsOf));
}

const headOfRows = ['Operation', 'Topology', 'Measure', 'Goal', 'Ours', 'Against', 'Unit'];

function cellsOf(row: Row): string[] {
  return [
    row.operation,
    row.topology,
    `${rounded(row.ratio)}${isReached(row) ? '' : ' ✗'}`,
    rounded(row.goal),
    rounded(row.ours),
    row.theirs === row.goal ? row.against : `${rounded(row.theirs)} (${row.against})`,
    row.unit,
  ];
}

/** What one write of each row costs, as a table for people; nothing when no write was measured. */
export function costsTable(rows: readonly Row[]): string {
  const head = [
    ...[
      'Write',
      'Topology',
      'Own statements',
      'Own commits',
      'Round trips',
      'All statements',
      'Nested',
      'Writing txs',
      'WAL kB',
    ],
    ...['CPU ms', 'Eligo', 'Postgres', 'NATS', 'Processor', 'CPU ms of each of Eligo’s processes'],
  ];
  const lines = rows.flatMap(({ operation, topology, costs }) => {
    if (costs === undefined) return [];
    const { own, statements, processorMs } = costs;
    const sum = (parts: readonly (readonly [string, number])[]) => parts.reduce((all, [, ms]) => all + ms, 0);
    const figures = [
      ...[statements.sent, statements.nested, costs.transactions, costs.walBytes / 1_000],
      ...[
        sum(Object.entries(processorMs)),
        sum(ownTime(processorMs)),
        ...serverGroups.map((name) => processorMs[name] ?? 0),
      ],
    ];
    const counts = own === undefined ? ['', '', ''] : [own.statements, own.transactions, own.roundTrips].map(String);
    return [[operation, topology, ...counts, ...figures.map(rounded), processesOf(processorMs)]];
  });
  return lines.length === 0 ? '' : tableText(head, lines);
}

// The one that takes most first; all-in-one has one alone.
function processesOf(processorMs: ProcessorTime): string {
  const own = ownTime(processorMs).toSorted(([, one], [, other]) => other - one);
  return own.map(([name, ms]) => `${name} ${rounded(ms)}`).join(', ');
}

/** The text of RESULTS.md. */
export function resultsText(results: readonly Result[]): string {
  const runs = [...new Set(results.map(({ run }) => run))];
  const cells = results.map((result) => [...cellsOf(result), String(runs.indexOf(result.run) + 1)]);
  return `# What was measured

Written by \`npm run bench -- --write\`: ratios of one run, each the median of its rounds, in which both sides took turns. What the operations
and their goals are stands in [README.md](README.md). A cross marks what does not reach its goal. A run replaces the rows that it measures; \`results.json\` keeps them.

${runs.map((run, index) => `${index + 1}. ${run}`).join('\n')}

${[tableText([...headOfRows, 'Run'], cells), costsTable(results)].filter(Boolean).join('\n\n')}
`;
}
