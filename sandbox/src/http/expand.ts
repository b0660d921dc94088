import { shape } from '../shapes/shape.ts';
import type { RecordKind } from '../store/record-types.ts';
import type { Records } from '../store/records.ts';

const kindOfPrefix: Record<string, RecordKind> = {
  ch: 'charge',
  cus: 'customer',
  du: 'dispute',
  file: 'file',
  pi: 'payment_intent',
  pm: 'payment_method',
  po: 'payout',
  re: 'refund',
  seti: 'setup_intent',
  txn: 'balance_transaction',
};

const maxDepth = 4;

/** Replaces ids in an answer by what they name, along the paths of `expand[]`; a path that leads nowhere is ignored. */
export function expandAnswer(answer: object, paths: readonly string[], records: Records, account: string): void {
  for (const path of paths) expandPath(answer, path.split('.').slice(0, maxDepth), records, account);
}

function expandPath(value: unknown, segments: string[], records: Records, account: string): void {
  if (Array.isArray(value)) {
    for (const entry of value) expandPath(entry, segments, records, account);
    return;
  }
  const [field, ...rest] = segments;
  if (field === undefined || !isRecord(value)) return;
  const found = value[field];
  if (typeof found === 'string') {
    const kind = kindOfPrefix[found.slice(0, found.indexOf('_'))];
    const record = kind && records.find(kind, account, found);
    if (kind !== undefined && record !== undefined) value[field] = shape(kind, record);
  }
  expandPath(value[field], rest, records, account);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
