import type { Database } from '@eligo/postgres';
import type { LoginVerifier, OperatorGate } from '@eligo/rpc';
import type { Logger } from './logger.ts';
import { recordOperatorAction } from './operator-actions.ts';

/** Lets operators in by their logins, and keeps each action in the component's audit log and log before it runs. */
export function operatorGate(
  logins: LoginVerifier | undefined,
  database: Database,
  logger: Logger,
): OperatorGate | undefined {
  if (logins === undefined) return undefined;
  return {
    verify: (token) => logins.verify(token),
    async record({ login, ...asked }) {
      const { operator, loginId } = login;
      const { action, requestId, subjectId, scope } = asked;
      const fields = { action, requestId, subjectId, operatorId: operator.id, accountId: scope?.accountId };
      try {
        await recordOperatorAction(database, { operator, loginId: operator.id && loginId, ...asked });
      } catch (error) {
        logger.error({ ...fields, err: error }, 'Refused an operator: the audit log is not writable');
        throw error;
      }
      if (asked.refused) logger.warn(fields, 'Refused an operator: the login or the policy does not allow the method');
      else logger.info(fields, 'Operator called a method');
    },
  };
}
