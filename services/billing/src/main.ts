import { runService } from '@eligo/service';
import { billingService } from './service.ts';

await runService(billingService);
