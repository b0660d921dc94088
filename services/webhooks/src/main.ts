import { runService } from '@eligo/service';
import { webhooksService } from './service.ts';

await runService(webhooksService);
