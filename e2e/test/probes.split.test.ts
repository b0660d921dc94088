import { describeProbes } from './probes.ts';

describeProbes('split');
