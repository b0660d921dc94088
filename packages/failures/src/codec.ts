import { create } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { type FailureDetail, FailureDetailSchema } from '@eligo/proto/failure/v1/failure';
import { Failure } from './failure.ts';
import { isFailureCode } from './table.ts';

/** A Failure as the message that calls carry and that stored refusals are kept as. Only the public text; the cause stays here. */
export function failureToDetail(failure: Failure): FailureDetail {
  return create(FailureDetailSchema, {
    code: failure.code,
    detail: failure.detail,
    ...(failure.declineCode === undefined ? {} : { declineCode: failure.declineCode }),
    ...(failure.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: Math.ceil(failure.retryAfterSeconds) }),
    violations: (failure.violations ?? []).map(({ loc, msg, type }) => ({ loc: [...loc], msg, type })),
  });
}

/** The Failure of such a message, or undefined when its code is not in this version's table (a newer peer's). */
export function failureFromDetail(detail: FailureDetail, cause?: unknown): Failure | undefined {
  if (!isFailureCode(detail.code)) return undefined;
  return new Failure(detail.code, {
    detail: detail.detail,
    declineCode: detail.declineCode,
    retryAfterSeconds: detail.retryAfterSeconds,
    violations:
      detail.violations.length === 0 ? undefined : detail.violations.map(({ loc, msg, type }) => ({ loc, msg, type })),
    cause,
  });
}

/** A Failure as an RPC error that carries it intact in its detail. */
export function toConnectError(failure: Failure): ConnectError {
  return new ConnectError(failure.detail, failure.row.rpc, undefined, [
    { desc: FailureDetailSchema, value: failureToDetail(failure) },
  ]);
}

/** The Failure that an RPC error carries, or undefined when it is none of ours. */
export function fromConnectError(error: unknown): Failure | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const [carried] = error.findDetails(FailureDetailSchema);
  return carried && failureFromDetail(carried, error);
}
