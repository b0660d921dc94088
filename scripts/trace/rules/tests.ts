import { testsIn } from '../rule.ts';

// The test files that the rules name most.
export const input = testsIn('packages/contract/test/input.test.ts');
export const rendering = testsIn('packages/contract/test/rendering.test.ts');
export const routeTable = testsIn('packages/contract/test/routes.test.ts');
export const shared = testsIn('packages/contract/test/rules.test.ts');
export const ids = testsIn('packages/values/src/ids.test.ts');
export const readPage = testsIn('packages/postgres/test/read-page.test.ts');
export const isolation = testsIn('packages/postgres/test/isolation.test.ts');
export const answers = testsIn('gateway/test/answers.test.ts');
export const refusals = testsIn('gateway/test/refusals.test.ts');
export const rateLimits = testsIn('gateway/test/rate-limits.test.ts');
export const probes = testsIn('gateway/test/probes.test.ts');
export const errorCodes = testsIn('e2e/test/error-codes.in-process.test.ts');
export const confirmTable = testsIn('e2e/test/confirm-table.ts');
export const shippingRates = testsIn('services/catalog/test/shipping-rates.test.ts');
export const components = testsIn('services/catalog/test/components.test.ts');
export const prices = testsIn('services/catalog/test/prices.test.ts');
export const priceList = testsIn('services/catalog/test/price-list.test.ts');
export const products = testsIn('services/catalog/test/products.test.ts');
export const discounts = testsIn('services/catalog/test/discounts.test.ts');
export const eligibility = testsIn('services/catalog/test/eligibility.test.ts');
export const codeImport = testsIn('services/catalog/test/product-code-import.test.ts');
export const guards = testsIn('services/catalog/test/guards.test.ts');
export const constraints = testsIn('services/catalog/test/constraints.test.ts');
export const carts = testsIn('services/catalog/test/carts.test.ts');
export const failures = testsIn('packages/failures/src/failures.test.ts');
