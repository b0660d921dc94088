export { runCommandLine, type Streams } from './command-line.ts';
export { checkBooks, type Fault, type ProcessorList } from './ledger/check-books.ts';
export { checkLedger } from './ledger/check-ledger.ts';
export { checkProcessor, type ProcessorCheck } from './ledger/check-processor.ts';
export { moveFromSuspense } from './ledger/move-from-suspense.ts';
export { type LedgerRepair, renameCharges, repairLedger } from './ledger/repair-ledger.ts';
