import { type Given, UsageError } from './command.ts';

/** What an option that is yes or no says; undefined if it is not given. */
export function yesOrNo(given: Given, name: string): boolean | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  if (text !== 'yes' && text !== 'no') throw new UsageError(`--${name} must be yes or no`);
  return text === 'yes';
}
