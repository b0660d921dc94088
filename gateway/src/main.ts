import { createLogger, runProcess } from '@eligo/service';
import { openGateway } from './open-gateway.ts';

const logger = createLogger({ service: 'gateway', level: process.env.LOG_LEVEL });

await runProcess(logger, (onFatal) => openGateway({ environment: process.env, logger, onFatal }));
