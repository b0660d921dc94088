import { runService } from '@eligo/service';
import { refundsService } from './service.ts';

await runService(refundsService);
