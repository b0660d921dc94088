import { type Given, UsageError } from './command.ts';

/** What an option that is yes or no says; undefined if it is not given. */
export function yesOrNo(given: Given, name: string): boolean | undefined {
  const text = given.text(name);
  if (text === undefined || text === 'yes' || text === 'no') return text === undefined ? undefined : text === 'yes';
  throw new UsageError(`--${name} must be yes or no`);
}
