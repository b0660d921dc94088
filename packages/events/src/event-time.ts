import { isId } from '@eligo/values';

/** When the id was made: its first ten characters are milliseconds in base 32. Undefined when it is not an event's id. */
export function timeOfEvent(eventId: string): Date | undefined {
  if (!isId('event', eventId)) return undefined;
  const start = eventId.indexOf('_') + 1;
  let ms = 0;
  for (const character of eventId.slice(start, start + 10)) ms = ms * 32 + alphabet.indexOf(character);
  return new Date(ms);
}

// Crockford's alphabet, as @eligo/values writes it.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
