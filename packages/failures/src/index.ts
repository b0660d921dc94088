export { failureFromDetail, failureToDetail, fromConnectError, toConnectError } from './codec.ts';
export {
  Failure,
  type FailureBody,
  type FailureOptions,
  failureAnswer,
  mostViolations,
  type Violation,
} from './failure.ts';
export { type FailureCode, type FailureRow, failureTable, isFailureCode, type RetryAdvice } from './table.ts';
