export { figures, type Operation, type Row, type Topology } from './figures.ts';
export { type Options, readOptions } from './options.ts';
export { runBench } from './run.ts';
