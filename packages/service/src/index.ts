export {
  AccountTurns,
  firstTurn,
  type Turn,
  type TurnPlace,
  type TurnRow,
  type Turns,
  turnsOf,
} from './account-turns.ts';
export { type AdminServer, startAdminServer } from './admin-server.ts';
export { BoundedRequest } from './bounded-request.ts';
export { buildService, type Service, type ServiceParts } from './build-service.ts';
export { ForeignKeyring, keyringCheck, startWithKeyring } from './check-keyring.ts';
export { collectStartGarbage } from './collect-start-garbage.ts';
export type { BuiltService, ServiceComposition, ServiceContext } from './composition.ts';
export { DiskWatch } from './disk-watch.ts';
export { eachAtOnce } from './each-at-once.ts';
export {
  EnvironmentProblems,
  EnvironmentReader,
  type EnvironmentRecord,
  readEnvironment,
  type Stage,
} from './environment.ts';
export type { ConnectEvents, EventBus, Stoppable } from './event-bus.ts';
export {
  armFailpoint,
  declareFailpoints,
  type FailpointAction,
  FailpointError,
  type FailpointState,
  failpoint,
  failpointReached,
  listFailpoints,
  releaseFailpoint,
  turnFailpointsOff,
  turnFailpointsOn,
} from './failpoints.ts';
export { checkReadiness, NotReady, type Readiness, type ReadinessChecks, ServesDegraded } from './health.ts';
export { type Job, type NextRun, PartlyFailed, prepareJobs, type RunningJobs } from './jobs.ts';
export { isWeakKeyring, type Keyring, openKeyring } from './keyring.ts';
export { allowedFields } from './log-fields.ts';
export { createLogger, type Logger, type LoggerOptions } from './logger.ts';
export { createMetrics, type Metrics } from './metrics.ts';
export { connectNatsEvents } from './nats-events.ts';
export { oneAtATime } from './one-at-a-time.ts';
export {
  listOperatorActions,
  type OperatorActionRow,
  operatorMigrations,
  type RecordedAction,
  recordOperatorAction,
} from './operator-actions.ts';
export { openPageTokens, type PageKind, type PageSubject, type PageTokens, readPageKey } from './page-token.ts';
export { openPeers, type Peers, type TransportTo } from './peers.ts';
export { isPlainUrl, readPublicUrl } from './public-url.ts';
export { readKeyring } from './read-keyring.ts';
export { type Runnable, runProcess, stopWaitMs } from './run-process.ts';
export { runService } from './run-service.ts';
export type { ServicePorts } from './running-service.ts';
export { isCardNumber, scrub } from './scrub.ts';
export { readServiceSettings } from './service-settings.ts';
export { traceWork, type WorkKind } from './trace-work.ts';
export { openTracing, type Tracing } from './tracing.ts';
export { CostBudgets, type CostLimits } from './turns/cost-budgets.ts';
export { CostMeter, type MeteredWork } from './turns/cost-meter.ts';
export { enterPresent, type TurnLine } from './turns/enter-present.ts';
export { isShortOfTime } from './turns/loop-load.ts';
export { Neighbors } from './turns/neighbors.ts';
export { type ProcessTurns, processTurns } from './turns/process-turns.ts';
export { readinessCaller } from './turns/readiness-caller.ts';
export { type SharedLimits, SharedRequests } from './turns/shared-requests.ts';
export { nameOf, type TurnCaller } from './turns/turn-caller.ts';
export { type Leave, type WaitingLimits, WaitingLines } from './turns/waiting-lines.ts';
export { wakeJobAfterCommit, wakeJobsOf } from './wake-job.ts';
