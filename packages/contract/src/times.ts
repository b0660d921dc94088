/**
 * A time as partners give it, in milliseconds since 1970: ISO 8601 (a date alone is its midnight; without a zone it is UTC; a space may stand
 * where an unescaped `+` stood) or Unix seconds as a number or digits. Undefined when it is none of these (decisions 3).
 */
export function parseTime(value: string | number): number | undefined {
  if (typeof value === 'number') return fromUnixSeconds(value);
  if (/^\d{1,12}$/.test(value)) return fromUnixSeconds(Number(value));
  const parts = isoForm.exec(value);
  if (parts === null) return undefined;
  const [, date = '', time = '00:00', seconds = ':00', fraction = '', sign, zoneHours = '00', zoneMinutes = '00'] =
    parts;
  const ms = Date.parse(`${date}T${time}${seconds}.${`${fraction}000`.slice(0, 3)}Z`);
  // Date.parse carries 31 April over into May; a date that is not in the calendar is refused instead.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date) return undefined;
  const zone = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes));
  return inRange(ms - zone * 60_000);
}

/** Milliseconds as the ISO 8601 string that records carry. */
export function isoTime(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** Milliseconds as the Unix seconds that sessions and events carry: truncated, never rounded (decisions 3). */
export function unixSeconds(ms: bigint): number {
  return Number(ms / 1000n);
}

const isoForm =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(?:[.,](\d{1,9}))?(?:[Zz]|([+\- ])([01]\d|2[0-3]):?([0-5]\d)?)?)?$/;
// The years that a timestamptz and an ISO string of four year digits share.
const earliestMs = Date.parse('0001-01-01T00:00:00Z');
const latestMs = Date.parse('9999-12-31T23:59:59.999Z');

function fromUnixSeconds(seconds: number): number | undefined {
  return Number.isSafeInteger(seconds) ? inRange(seconds * 1000) : undefined;
}

function inRange(ms: number): number | undefined {
  return ms >= earliestMs && ms <= latestMs ? ms : undefined;
}
