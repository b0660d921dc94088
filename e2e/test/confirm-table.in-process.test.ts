import { describeConfirmTable } from './confirm-table.ts';

describeConfirmTable('in-process');
