import { renderReconciled } from '@eligo/contract';
import type { ReconciliationItem } from '@eligo/proto/refunds/v1/refunds';
import { inPieces } from './in-pieces.ts';

/** What a report is of. */
interface ReportHead {
  readonly from: string;
  readonly to: string;
  readonly testMode: boolean;
}

/** The JSON text of a reconciliation report, item by item: memory holds no day. */
export function jsonOf(head: ReportHead, items: AsyncIterable<ReconciliationItem>): AsyncGenerator<string> {
  return inPieces(textsOf(head, items));
}

// The lists of a day by the kind of their items, in the order in which these come.
const lists = {
  account: 'accounts',
  movements: 'movements',
  entries: 'entries',
  payout: 'payouts',
  suspense: 'suspense',
};
const sections = Object.values(lists);

async function* textsOf({ from, to, testMode }: ReportHead, items: AsyncIterable<ReconciliationItem>) {
  const head = JSON.stringify({ from, to, currency: 'usd', test_mode: testMode });
  let open = -1;
  const upTo = (section: number) => {
    let text = '';
    for (; open < section; open++) text += `${open < 0 ? '' : ']'},"${sections[open + 1]}":[`;
    return text;
  };
  const endOfDay = () => `${upTo(sections.length - 1)}]}`;
  let days = 0;
  for await (const item of items) {
    const shown = renderReconciled(item);
    if (shown === undefined) continue;
    if (shown.kind === 'day') {
      const end = days === 0 ? `{"reconciliation":${head.slice(0, -1)},"days":[` : `${endOfDay()},`;
      yield end + JSON.stringify(shown.value).slice(0, -1);
      days += 1;
      open = -1;
      continue;
    }
    const at = sections.indexOf(lists[shown.kind]);
    const before = at > open ? upTo(at) : ',';
    yield before + JSON.stringify(shown.value);
  }
  if (days === 0) throw new Error('A reconciliation report has no day');
  yield `${endOfDay()}]}}`;
}
