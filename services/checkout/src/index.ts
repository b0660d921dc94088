export { checkoutService } from './service.ts';
