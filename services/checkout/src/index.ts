export { importIssuerRanges } from './actions/import-issuer-ranges.ts';
export { checkoutService } from './service.ts';
