import { secretsOf } from '@eligo/stack';
import { runningStack } from './running-stack.ts';

/** What signs the logins of operators: ELIGO_OPERATOR_KEY, or the running stack's. */
export function operatorKey(): string {
  return process.env.ELIGO_OPERATOR_KEY || secretsOf(runningStack().home).operatorKey;
}
