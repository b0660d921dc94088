import { createLogger, runProcess } from '@eligo/service';
import { openGateway } from './open-gateway.ts';

const logger = createLogger({ service: 'gateway', level: process.env.LOG_LEVEL });

await runProcess(logger, async (onFatal) => {
  const gateway = await openGateway({ environment: process.env, logger, onFatal });
  logger.info({ url: gateway.url }, 'Gateway is listening');
  return gateway;
});
