export { webhooksService } from './service.ts';
