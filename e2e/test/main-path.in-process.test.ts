import { describeMainPath } from './main-path.ts';

describeMainPath('in-process');
