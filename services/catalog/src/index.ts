export { setFoodPolicy } from './actions/set-food-policy.ts';
export type { FoodPolicy } from './domain/food-policy.ts';
export {
  type ImportProgress,
  importProductCodes,
  type ProductCodeImport,
  type ProductCodeImportResult,
} from './import/product-codes.ts';
export { catalogService } from './service.ts';
