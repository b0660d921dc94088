import { renderReconciled } from '@eligo/contract';
import type { ReconciliationItem } from '@eligo/proto/refunds/v1/refunds';
import { inPieces } from './in-pieces.ts';

/** The CSV text of a reconciliation report: a row for each item, with its day and what it is. */
export function csvOf(items: AsyncIterable<ReconciliationItem>): AsyncGenerator<string> {
  return inPieces(linesOf(items));
}

const columns = [
  ...(['date', 'row', 'processor', 'processor_account', 'account', 'type', 'reporting_category', 'payout'] as const),
  ...(['status', 'balance_transaction', 'processor_transaction', 'created_at', 'count', 'gross', 'fee'] as const),
  ...(['net', 'opening', 'change', 'closing', 'amount_in_suspense'] as const),
] as const;

type Cells = Partial<Record<(typeof columns)[number], string | number | null>>;

async function* linesOf(items: AsyncIterable<ReconciliationItem>): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`;
  let date = '';
  for await (const item of items) {
    const shown = renderReconciled(item);
    if (shown === undefined) continue;
    if (shown.kind !== 'day') {
      yield lineOf({ date, row: shown.kind, ...shown.value });
      continue;
    }
    const { opening_balance: opening, closing_balance: closing } = shown.value;
    date = shown.value.date;
    yield lineOf({ date, row: 'balance', opening, change: closing - opening, closing });
  }
}

function lineOf(cells: Cells): string {
  return `${columns.map((column) => cellOf(cells[column])).join(',')}\r\n`;
}

// RFC 4180. A text that a spreadsheet would take for a formula begins with an apostrophe; amounts may be negative.
function cellOf(value: string | number | null | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
