import { type Database, isUniqueViolation } from '@eligo/postgres';
import { type LoginVerifier, type OperatorGate, refusalReasons, UsedProof } from '@eligo/rpc';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { recordOperatorAction } from './operator-actions.ts';

/**
 * Lets operators in by their logins, and keeps each action in the component's audit log and log before it runs. A call whose login or proof is refused is
 * counted and logged: a proof that comes again is a sign that a component is taken over.
 */
export function operatorGate(
  logins: LoginVerifier | undefined,
  { database, logger, metrics }: { database: Database; logger: Logger; metrics: Metrics },
): OperatorGate | undefined {
  const refused = metrics.counter(
    'operator_calls_refused_total',
    'Calls on the admin port refused for their login or proof, by reason',
    ['reason'],
  );
  // A rule sees the first count only if the series was there before.
  for (const reason of refusalReasons) refused.inc({ reason }, 0);
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
        if (isUniqueViolation(error, 'operator_proof_once')) throw new UsedProof();
        logger.error({ ...fields, err: error }, 'Refused an operator: the audit log is not writable');
        throw error;
      }
      if (asked.refused) logger.warn(fields, 'Refused an operator: the login or the policy does not allow the method');
      else logger.info(fields, 'Operator called a method');
    },
    report({ reason, ...call }) {
      refused.inc({ reason });
      logger.warn({ reason, ...call }, 'Refused a call on the admin port: the login or the proof is not valid');
    },
  };
}
