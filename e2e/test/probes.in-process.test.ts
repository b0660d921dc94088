import { describeProbes } from './probes.ts';

describeProbes('in-process');
