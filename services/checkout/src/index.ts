export { addReviewer, listReviewers, revokeReviewer } from './actions/add-reviewer.ts';
export { type Erasure, type ErasureWork, eraseCustomer } from './actions/erase-customer.ts';
export { eraseGuest, findGuestSessions, type Guest, visitIntentsOfSessions } from './actions/erase-guest.ts';
export { importIssuerRanges } from './actions/import-issuer-ranges.ts';
export { resealAnswers } from './actions/reseal-answers.ts';
export { visitIntents } from './actions/visit-intents.ts';
export { checkoutService } from './service.ts';
