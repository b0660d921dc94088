/** The time zone of an account that was given none: that of most of its plans' administrators and shoppers. */
export const defaultTimeZone = 'America/New_York';

/** The day of a time in a time zone, for a person: March 1, 2026. */
export function dateInWords(time: Date, timeZone: string): string {
  return time.toLocaleDateString('en-US', { dateStyle: 'long', timeZone });
}

/** The day of a time with the time zone that has this day then: December 31, 2026 (Eastern Time). */
export function zonedDateInWords(time: Date, timeZone: string): string {
  return `${dateInWords(time, timeZone)} (${timeZoneInWords(time, timeZone)})`;
}

/** A time to the second, with what its clocks showed: December 31, 2026 at 7:30:00 PM EST. The hour that comes twice has two names. */
export function timeInWords(time: Date, timeZone: string): string {
  return plainSpaces(time.toLocaleString('en-US', { dateStyle: 'long', timeStyle: 'long', timeZone }));
}

/** What people call a time zone: Eastern Time. */
export function timeZoneInWords(time: Date, timeZone: string): string {
  if (timeZone === 'UTC') return timeZone;
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longGeneric' }).formatToParts(time);
  return plainSpaces(parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone);
}

/**
 * The name by which a time zone of the IANA database is kept; undefined where there is none of this name. An abbreviation is none: EST has no daylight saving
 * time, which New York has.
 */
export function timeZoneNamed(name: string): string | undefined {
  if (name !== 'UTC' && !/^[A-Za-z_]+(\/[A-Za-z0-9_+-]+)+$/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

// Some releases of ICU separate the hour from AM and PM by a narrow space, which many fonts do not have.
function plainSpaces(text: string): string {
  return text.replaceAll('\u202f', ' ');
}
