import { describe, expect, it, test } from 'vitest';
import { dateInWords, timeInWords, timeZoneInWords, timeZoneNamed, zonedDateInWords } from './date-in-words.ts';

const at = (time: string) => new Date(time);

describe('the day of a time', () => {
  it('is that of the time zone, also where a year ends [D14.376]', () => {
    expect(dateInWords(at('2027-01-01T00:30:00Z'), 'America/New_York')).toBe('December 31, 2026');
    expect(dateInWords(at('2027-01-01T04:59:59.999Z'), 'America/New_York')).toBe('December 31, 2026');
    expect(dateInWords(at('2027-01-01T05:00:00Z'), 'America/New_York')).toBe('January 1, 2027');
    expect(dateInWords(at('2027-01-01T00:30:00Z'), 'UTC')).toBe('January 1, 2027');
  });

  it.each([
    // Daylight saving time began on March 8 and ended on November 1.
    ['2026-03-09T03:59:00Z', 'March 8, 2026'],
    ['2026-03-09T04:00:00Z', 'March 9, 2026'],
    ['2026-03-08T04:59:00Z', 'March 7, 2026'],
    ['2026-03-08T05:00:00Z', 'March 8, 2026'],
    ['2026-11-01T03:59:00Z', 'October 31, 2026'],
    ['2026-11-01T04:00:00Z', 'November 1, 2026'],
    ['2026-11-02T04:59:00Z', 'November 1, 2026'],
    ['2026-11-02T05:00:00Z', 'November 2, 2026'],
  ])('follows daylight saving time: %s is on %s [D14.376]', (time, day) => {
    expect(zonedDateInWords(at(time), 'America/New_York')).toBe(`${day} (Eastern Time)`);
  });
});

test('a time has the name of its clock, which tells the hour that comes twice apart [D14.376]', () => {
  expect(timeInWords(at('2027-01-01T00:30:00Z'), 'America/New_York')).toBe('December 31, 2026 at 7:30:00 PM EST');
  expect(timeInWords(at('2026-11-01T05:30:00Z'), 'America/New_York')).toBe('November 1, 2026 at 1:30:00 AM EDT');
  expect(timeInWords(at('2026-11-01T06:30:00Z'), 'America/New_York')).toBe('November 1, 2026 at 1:30:00 AM EST');
});

test.each([
  ['America/New_York', 'Eastern Time'],
  ['America/Los_Angeles', 'Pacific Time'],
  ['America/Phoenix', 'Mountain Standard Time'],
  ['Pacific/Honolulu', 'Hawaii-Aleutian Standard Time'],
  ['UTC', 'UTC'],
])('%s is called %s [D14.376]', (zone, name) => {
  expect(timeZoneInWords(at('2026-07-01T00:00:00Z'), zone)).toBe(name);
});

test.each([
  ['America/New_York', 'America/New_York'],
  ['america/chicago', 'America/Chicago'],
  ['US/Eastern', 'America/New_York'],
  ['UTC', 'UTC'],
  ['EST', undefined],
  ['+05:00', undefined],
  ['Mars/Olympus_Mons', undefined],
  ['America/', undefined],
  ['', undefined],
])('the time zone named %j is %j [D14.376]', (name, zone) => {
  expect(timeZoneNamed(name)).toBe(zone);
});
