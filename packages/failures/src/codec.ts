import { ConnectError } from '@connectrpc/connect';
import { FailureDetailSchema } from '@eligo/proto/failure/v1/failure';
import { Failure } from './failure.ts';
import { isFailureCode } from './table.ts';

/** A Failure as an RPC error that carries it intact in its detail. Only the public text travels; the cause stays here. */
export function toConnectError(failure: Failure): ConnectError {
  return new ConnectError(failure.detail, failure.row.rpc, undefined, [
    {
      desc: FailureDetailSchema,
      value: {
        code: failure.code,
        detail: failure.detail,
        ...(failure.declineCode === undefined ? {} : { declineCode: failure.declineCode }),
        ...(failure.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: Math.ceil(failure.retryAfterSeconds) }),
        violations: (failure.violations ?? []).map(({ loc, msg, type }) => ({ loc: [...loc], msg, type })),
      },
    },
  ]);
}

/** The Failure that an RPC error carries, or undefined when it is none of ours (or of a newer peer's table). */
export function fromConnectError(error: unknown): Failure | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const [carried] = error.findDetails(FailureDetailSchema);
  if (carried === undefined || !isFailureCode(carried.code)) return undefined;
  return new Failure(carried.code, {
    detail: carried.detail,
    declineCode: carried.declineCode,
    retryAfterSeconds: carried.retryAfterSeconds,
    violations:
      carried.violations.length === 0
        ? undefined
        : carried.violations.map(({ loc, msg, type }) => ({ loc, msg, type })),
    cause: error,
  });
}
