export { runCommandLine, type Streams } from './command-line.ts';
