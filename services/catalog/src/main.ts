import { runService } from '@eligo/service';
import { catalogService } from './service.ts';

await runService(catalogService);
