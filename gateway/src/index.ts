export * from './accounts/index.ts';
export { type Gateway, openGateway } from './open-gateway.ts';
export { gatewayService } from './service.ts';
