import { ownTime, serverGroups } from './costs/stack-groups.ts';
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
    ...['CPU ms', 'Eligo', 'Postgres', 'NATS', 'Processor'],
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
    const counts = [own.statements, own.transactions, own.roundTrips].map(String);
    return [[operation, topology, ...counts, ...figures.map(rounded)]];
  });
  return lines.length === 0 ? '' : tableText(head, lines);
}

/** The text of RESULTS.md. `run` says when and on what it was measured. */
export function resultsText(rows: readonly Row[], run: string, rounds: number): string {
  return `# What was measured

Written by \`npm run bench -- --write\`: ratios of one run, each the median of ${rounds} rounds in which both sides took turns. What the operations
and their goals are stands in [README.md](README.md). A cross marks what does not reach its goal.

Measured on ${run}

${[tableOf(rows), costsTable(rows)].filter(Boolean).join('\n\n')}
`;
}
