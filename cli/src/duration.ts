import { UsageError } from './command.ts';

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `15m`, `24h` or `7d` in milliseconds. */
export function durationMs(text: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  const unitMs = unitsMs[match?.[2] ?? ''];
  if (!match || unitMs === undefined) throw new UsageError(`Invalid duration "${text}"; use 90s, 15m, 24h or 7d`);
  return Number(match[1]) * unitMs;
}
