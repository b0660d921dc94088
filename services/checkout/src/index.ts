export { addReviewer, listReviewers, revokeReviewer } from './actions/add-reviewer.ts';
export { type Erasure, eraseCustomer } from './actions/erase-customer.ts';
export { importIssuerRanges } from './actions/import-issuer-ranges.ts';
export { resealAnswers } from './actions/reseal-answers.ts';
export { visitIntents } from './actions/visit-intents.ts';
export { checkoutService } from './service.ts';
