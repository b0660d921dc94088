import { Code } from '@connectrpc/connect';

/** The RPC code that stands for an HTTP status; throws for a status that no failure has. */
export function rpcCodeOf(status: number): Code {
  const code = rpcByStatus[status];
  if (code === undefined) throw new Error(`no RPC code for status ${status}`);
  return code;
}

const rpcByStatus: Record<number, Code> = {
  400: Code.FailedPrecondition,
  401: Code.Unauthenticated,
  402: Code.FailedPrecondition,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  405: Code.Unimplemented,
  409: Code.Aborted,
  410: Code.Unimplemented,
  413: Code.ResourceExhausted,
  415: Code.InvalidArgument,
  422: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  500: Code.Internal,
  503: Code.Unavailable,
};
