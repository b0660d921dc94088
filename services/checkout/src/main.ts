import { runService } from '@eligo/service';
import { checkoutService } from './service.ts';

await runService(checkoutService);
