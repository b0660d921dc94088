import { describeConfirmTable } from './confirm-table.ts';

describeConfirmTable('split');
