export { type ErasedDisputes, eraseDisputes } from './actions/erase-disputes.ts';
export { refundsService } from './service.ts';
