export { type ResealProgress, type ResealResult, resealSecrets } from './actions/reseal-secrets.ts';
export { webhooksService } from './service.ts';
