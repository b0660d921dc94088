import { secretsOf } from '@eligo/stack';
import { runningStack } from './running-stack.ts';
import { variable } from './variable.ts';

/** What signs the logins of operators: ELIGO_OPERATOR_KEY, or the running stack's. */
export function operatorKey(): string {
  return variable('ELIGO_OPERATOR_KEY') || secretsOf(runningStack().home).operatorKey;
}
