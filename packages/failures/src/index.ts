export { failureFromDetail, failureToDetail, fromConnectError, toConnectError } from './codec.ts';
export {
  Failure,
  type FailureBody,
  type FailureOptions,
  failureAnswer,
  mostViolations,
  type Violation,
} from './failure.ts';
export type { FailureRow, RetryAdvice } from './row.ts';
export { type FailureCode, failureTable, isFailureCode } from './table.ts';
