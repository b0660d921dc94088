export { type Api, type ApiAnswer, type ApiRequest, apiClient } from './api.ts';
export {
  type Arming,
  type Constellation,
  type ConstellationOptions,
  startConstellation,
  type Topology,
} from './constellation.ts';
export { fillTables } from './fill-tables.ts';
export { type LateCommit, loseNextCommit } from './late-commit.ts';
export { probeStatements } from './probe-statements.ts';
export { takeQuietStatistics } from './quiet-statistics.ts';
export { restartPart } from './restart-part.ts';
export { seededAccount, seededEvents, seededId, seededKeys, seededRows } from './seeded.ts';
export { accountSizes, readInSmallAndLarge } from './small-and-large.ts';
export { growths, type Readings, statementsNotRun } from './statement-growth.ts';
export { readStatements } from './statement-readings.ts';
export {
  type Schema,
  type TestDatabase,
  testDatabase,
  testDatabaseOn,
  testPasswords,
  testPostgresUrl,
} from './test-database.ts';
export { type TestHome, testHome } from './test-home.ts';
export { openNatsConfiguration, type TestNats, testNats, testNatsUrl } from './test-nats.ts';
export { untilLockWait } from './until-lock-wait.ts';
export { vacuumDeleted } from './vacuum-deleted.ts';
export { type WaitOptions, waitUntil } from './wait-until.ts';
export { type Received, type Receiver, startReceiver } from './webhook-receiver.ts';
