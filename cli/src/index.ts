export { runCommandLine, type Streams } from './command-line.ts';
export { checkBooks, type Fault, type ProcessorList } from './ledger/check-books.ts';
