import { type StateTable, stateTable } from '@eligo/values';

export type InvoiceStatus = 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';

/** decisions 7. The trigger `guard_invoice` holds the same table; a test tries every pair in both. */
export const invoiceStates: StateTable<InvoiceStatus> = stateTable<InvoiceStatus>({
  draft: ['open', 'void'],
  open: ['paid', 'void', 'uncollectible'],
  paid: [],
  void: [],
  uncollectible: ['paid', 'void'],
});
