import { areRetryDays, changeDunning, type DunningSettings } from '@eligo/billing';
import type { Database } from '@eligo/postgres';
import { type Given, UsageError } from '../command.ts';

/** The options that say how an account duns. */
export const dunningOptions = { 'dunning-days': { type: 'string' }, 'dunning-end': { type: 'string' } } as const;

/** How a mode of an account duns, as the tool tells it. */
export interface ToldDunning {
  readonly mode: 'test' | 'live';
  readonly retry_days: readonly number[];
  readonly ends_with: DunningSettings['endsWith'];
}

/** What the options change; undefined if none is given. */
export function dunningOf(given: Given): Partial<DunningSettings> | undefined {
  const [days, end] = [given.text('dunning-days'), given.text('dunning-end')];
  if (days === undefined && end === undefined) return undefined;
  if (end !== undefined && end !== 'canceled' && end !== 'unpaid') {
    throw new UsageError('--dunning-end must be canceled or unpaid');
  }
  return {
    ...(days === undefined ? {} : { retryDays: daysOf(days) }),
    ...(end === undefined ? {} : { endsWith: end }),
  };
}

function daysOf(text: string): number[] {
  const days = text.split(',').map((day) => (/^\d{1,2}$/.test(day) ? Number(day) : Number.NaN));
  if (!areRetryDays(days)) {
    throw new UsageError('--dunning-days must be 1 to 10 ascending days from 1 to 60, such as 1,3,5,7');
  }
  return days;
}

export async function updateDunning(
  billing: Database,
  accountId: string,
  change: Partial<DunningSettings>,
): Promise<ToldDunning[]> {
  const told: ToldDunning[] = [];
  for (const mode of ['test', 'live'] as const) {
    const { retryDays, endsWith } = await changeDunning(billing, { accountId, testMode: mode === 'test' }, change);
    told.push({ mode, retry_days: retryDays, ends_with: endsWith });
  }
  return told;
}

export function dunningLine({ mode, retry_days: days, ends_with: end }: ToldDunning): string {
  return `${mode} mode tries a failed renewal again after ${days.join(', ')} days; a subscription is then ${end}`;
}
