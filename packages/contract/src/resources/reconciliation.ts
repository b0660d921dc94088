import type {
  ReconciledAccount,
  ReconciledActivity,
  ReconciledDay,
  ReconciledMovement,
  ReconciliationItem,
} from '@eligo/proto/refunds/v1/refunds';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

const place = { processor: z.string(), processor_account: z.string() };
const amounts = { gross: answer.cents, fee: answer.cents, net: answer.cents };
const movement = { ...place, balance_transaction: idOf('balance_transaction'), processor_transaction: z.string() };

const account = z.strictObject({
  ...place,
  account: z.string(),
  opening: answer.cents,
  change: answer.cents,
  closing: answer.cents,
});
const activity = z.strictObject({
  ...place,
  type: z.string(),
  reporting_category: answer.text,
  count: z.int(),
  ...amounts,
});
const entries = z.strictObject({ ...place, type: z.string(), count: z.int(), gross: answer.cents });
const payout = z.strictObject({
  ...movement,
  type: z.string(),
  payout: idOf('payout').nullable(),
  status: answer.text,
  ...amounts,
  created_at: answer.time,
});
const suspense = z.strictObject({
  ...movement,
  type: z.string(),
  ...amounts,
  amount_in_suspense: answer.cents,
  created_at: answer.time,
});
const day = z.strictObject({
  date: z.iso.date(),
  opening_balance: answer.cents,
  closing_balance: answer.cents,
  accounts: z.array(account),
  movements: z.array(activity),
  entries: z.array(entries),
  payouts: z.array(payout),
  suspense: z.array(suspense),
});

/** What the books say of some days: for each, how the balance at the processor became what it is, and what the records moved. */
export const reconciliationSchema = z.strictObject({
  from: z.iso.date(),
  to: z.iso.date(),
  currency: z.string(),
  test_mode: z.boolean(),
  days: z.array(day),
});

/** Renders what refunds tells of a day, with its kind: the day itself, or an item of one of its lists. Undefined for an item of a newer release. */
export function renderReconciled({ item }: ReconciliationItem) {
  switch (item.case) {
    case 'day':
      return { kind: 'day', value: renderDay(item.value) } as const;
    case 'account':
      return { kind: 'account', value: renderAccount(item.value) } as const;
    case 'activity':
      return item.value.cause === 'balance'
        ? ({ kind: 'movements', value: renderActivity(item.value) } as const)
        : ({ kind: 'entries', value: renderEntries(item.value) } as const);
    case 'payout':
      return { kind: 'payout', value: renderPayout(item.value) } as const;
    case 'suspense':
      return { kind: 'suspense', value: renderSuspense(item.value) } as const;
    default:
      return undefined;
  }
}

function renderDay({ date, openingCents, closingCents }: ReconciledDay) {
  return { date, opening_balance: centsFromInt64(openingCents), closing_balance: centsFromInt64(closingCents) };
}

function renderAccount(one: ReconciledAccount): z.infer<typeof account> {
  return {
    ...placeOf(one),
    account: one.ledgerAccount,
    opening: centsFromInt64(one.openingCents),
    change: centsFromInt64(one.changeCents),
    closing: centsFromInt64(one.closingCents),
  };
}

function renderActivity(one: ReconciledActivity): z.infer<typeof activity> {
  const { type, reportingCategory, transactions } = one;
  const reporting_category = reportingCategory === '' ? null : reportingCategory;
  return { ...placeOf(one), type, reporting_category, count: Number(transactions), ...amountsOf(one) };
}

function renderEntries(one: ReconciledActivity): z.infer<typeof entries> {
  const { type, transactions, amountCents } = one;
  return { ...placeOf(one), type, count: Number(transactions), gross: centsFromInt64(amountCents) };
}

function renderPayout(one: ReconciledMovement): z.infer<typeof payout> {
  const { type, payoutId, payoutStatus, createdAtMs } = one;
  const shown = { type, payout: payoutId ?? null, status: payoutStatus ?? null };
  return { ...movementOf(one), ...shown, ...amountsOf(one), created_at: isoTime(createdAtMs) };
}

function renderSuspense(one: ReconciledMovement): z.infer<typeof suspense> {
  const { type, suspenseCents, createdAtMs } = one;
  const rest = { amount_in_suspense: centsFromInt64(suspenseCents), created_at: isoTime(createdAtMs) };
  return { ...movementOf(one), type, ...amountsOf(one), ...rest };
}

function placeOf({ processor, processorAccount }: { processor: string; processorAccount: string }) {
  return { processor, processor_account: processorAccount };
}

function movementOf(one: ReconciledMovement) {
  const { balanceTransactionId: balance_transaction, processorTransactionId: processor_transaction } = one;
  return { ...placeOf(one), balance_transaction, processor_transaction };
}

function amountsOf({ amountCents, feeCents, netCents }: { amountCents: bigint; feeCents: bigint; netCents: bigint }) {
  return { gross: centsFromInt64(amountCents), fee: centsFromInt64(feeCents), net: centsFromInt64(netCents) };
}
