import { publicKeyOf } from '@eligo/rpc';
import { UsageError } from './command.ts';
import { variable } from './variable.ts';

/** A login as `operator login` prints it: what is sent, and the key that stays here and proves calls. */
export interface GivenLogin {
  readonly token: string;
  readonly proofKey: string;
}

/** The login of ELIGO_OPERATOR_TOKEN and its key; undefined without one. The components, or `currentLogin`, tell whether it is valid. */
export function givenLogin(): GivenLogin | undefined {
  const token = variable('ELIGO_OPERATOR_TOKEN');
  if (!token) return undefined;
  const proofKey = variable('ELIGO_OPERATOR_PROOF_KEY');
  if (proofKey && isKey(proofKey)) return { token, proofKey };
  throw new UsageError('ELIGO_OPERATOR_PROOF_KEY must be the key of the login; run operator login again, and set both');
}

function isKey(text: string): boolean {
  try {
    publicKeyOf(text);
    return true;
  } catch {
    return false;
  }
}
