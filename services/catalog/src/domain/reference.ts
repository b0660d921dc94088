import { Failure, type FailureCode } from '@eligo/failures';
import { idKindOf } from '@eligo/values';
import type { Loc } from './field-rules.ts';

/** The refusal of a bad reference in a body: it names the offending item, and only an id of ours is ever echoed (decisions 1.9). */
export function badReference(loc: Loc, code: FailureCode, id: string): Failure {
  return Failure.invalid(loc, code, idKindOf(id) === undefined ? code : `${code}: ${id}`);
}
