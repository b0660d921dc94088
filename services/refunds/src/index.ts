export { type ErasedDisputes, eraseDisputes } from './actions/erase-disputes.ts';
export { refundsService } from './service.ts';
export { findOpenDisputes, type OpenDispute } from './store/erased-intents.ts';
