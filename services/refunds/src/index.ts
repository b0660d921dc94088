export { refundsService } from './service.ts';
