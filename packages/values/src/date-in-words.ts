/** The date of a time in UTC for a person: March 1, 2026. */
export function dateInWords(time: Date): string {
  return time.toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' });
}
