export { runCommandLine, type Streams } from './command-line.ts';
export { checkBooks } from './ledger/check-books.ts';
export { checkLedger } from './ledger/check-ledger.ts';
export { checkProcessor, lookAtProcessor, type ProcessorCheck } from './ledger/check-processor.ts';
export { type Fault, Findings, lookTwice } from './ledger/findings.ts';
export { moveFromSuspense } from './ledger/move-from-suspense.ts';
export { type LedgerRepair, renameCharges, repairLedger } from './ledger/repair-ledger.ts';
export { rereadMovements } from './ledger/reread-movements.ts';
export { listOfSandbox, type ProcessorList, type Sandbox } from './ledger/sandbox-list.ts';
