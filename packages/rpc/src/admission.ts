import { Code, ConnectError } from '@connectrpc/connect';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import { type Identity, noCaller } from './identity.ts';
import type { CallMetadata } from './metadata.ts';
import type { MethodPolicy } from './policy.ts';

/** Who makes a call and on whose behalf, once established. */
export interface Admission {
  readonly from: string;
  readonly caller: CallerContext;
}

/** Authenticates the caller by its credentials, and refuses callers that the method's policy does not name. */
export function admit(policy: MethodPolicy, metadata: CallMetadata, identity: Identity): Admission {
  const from = identity.verifyCredential(metadata['eligo-credential']);
  if (!policy.callers.has(from)) {
    throw new ConnectError(`Component ${from} may not call this method`, Code.PermissionDenied);
  }
  const token = metadata['eligo-caller'];
  if (token !== undefined) return { from, caller: identity.verifyCaller(token, from) };
  if (!policy.withoutContext) throw new ConnectError('The call has no caller context', Code.Unauthenticated);
  return { from, caller: noCaller };
}
