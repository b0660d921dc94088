import { UsageError } from './command.ts';
import { variable } from './variable.ts';

/** The personal credential of a reviewer. Not an option: other users of the machine see those. */
export function reviewerCredential(): string {
  const given = variable('ELIGO_REVIEWER_CREDENTIAL');
  if (!given) throw new UsageError('Set ELIGO_REVIEWER_CREDENTIAL to your personal credential');
  return given;
}
