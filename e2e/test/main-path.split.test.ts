import { describeMainPath } from './main-path.ts';

describeMainPath('split');
